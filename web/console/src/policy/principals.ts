import { useEffect, useState } from "preact/hooks";

import { api } from "../store";

interface PrincipalList {
  readonly principals: readonly { readonly id: string }[];
}

/** Names of principals to choose from; none where they cannot be read, for any may be typed. */
export function usePrincipals(): readonly string[] {
  const [names, setNames] = useState<readonly string[]>([]);
  useEffect(() => {
    api.get<PrincipalList>("/v1/admin/principals").then(
      ({ principals }) => setNames(principals.map(({ id }) => id)),
      () => undefined,
    );
  }, []);
  return names;
}
