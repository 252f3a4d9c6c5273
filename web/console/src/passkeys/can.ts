/** Whether this address can have passkeys: they are of host names, and of secure pages. */
export const canHavePasskeys =
  globalThis.PublicKeyCredential !== undefined && !/^[\d.]+$|[[:]/.test(location.hostname);
