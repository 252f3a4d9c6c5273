import { X509Certificate } from "node:crypto";

/** A certificate that a gateway has issued to this host, with its key and its authority. */
export interface InstalledCertificate {
  pairing_id: string;
  gateway_id: string;
  key_pem: string;
  certificate_pem: string;
  ca_pem: string;
}

export function fingerprint(certificate: X509Certificate): string {
  return `sha256:${certificate.fingerprint256.replace(/:/g, "").toLowerCase()}`;
}

export function isValidAt(certificate: X509Certificate, ms: number, slackMs = 0): boolean {
  return (
    ms >= Date.parse(certificate.validFrom) - slackMs &&
    ms < Date.parse(certificate.validTo) + slackMs
  );
}

/** Whether the names are this URI, and besides it host names and addresses alone. */
export function isNamed(certificate: X509Certificate, uri: string, alone: boolean): boolean {
  const names = (certificate.subjectAltName ?? "").split(", ").filter((name) => name !== "");
  const uris = names.filter((name) => name.startsWith("URI:"));
  const known = /^(URI|DNS|IP Address):/;
  return (
    uris.length === 1 &&
    uris[0] === `URI:${uri}` &&
    (!alone || names.every((name) => known.test(name)))
  );
}

export function isIssuedBy(certificate: X509Certificate, authority: X509Certificate): boolean {
  return (
    authority.ca && certificate.checkIssued(authority) && certificate.verify(authority.publicKey)
  );
}

/**
 * Whether a certificate is that of the gateway which issued `installed`; else the HTTP status that
 * says why not.
 */
export function judgeGateway(
  installed: InstalledCertificate,
  shown: X509Certificate,
  now: number,
): "good" | 401 | 403 {
  const authority = new X509Certificate(installed.ca_pem);
  if (!isValidAt(shown, now) || !isValidAt(authority, now) || !isIssuedBy(shown, authority))
    return 401;
  return isNamed(shown, `crab://gateway/${installed.gateway_id}`, true) ? "good" : 403;
}
