const lockName = "crab-device";

/**
 * Calls `mine` in one tab of this browser at a time, the one that asked last; `lost` when another
 * tab has taken over. Without the Web Locks API every tab is called.
 */
export function beTheOneTab(mine: () => void, lost: () => void): void {
  if (!navigator.locks) {
    mine();
    return;
  }
  navigator.locks
    .request(lockName, { steal: true }, () => {
      mine();
      return new Promise<never>(() => {}); // kept until the tab is closed or another one steals it
    })
    .catch(lost);
}
