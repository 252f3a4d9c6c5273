/** Where a device's bearer token comes from when it does not last; {@link DeviceKey} is one. */
export interface TokenSource {
  /**
   * A token that the gateway accepts now. Asked before the first link, and again whenever the last
   * token was refused. Throws {@link TokenRefused} when there will be none; any other
   * exception means: try again later.
   */
  token(): Promise<string>;
}

/** The gateway does not know this device any more; only pairing helps. */
export class TokenRefused extends Error {
  override readonly name = "TokenRefused";
}
