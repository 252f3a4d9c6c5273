const most = 16_384;

/**
 * The ids of the calls that a device has begun, so that none runs twice although the gateway may
 * send it again. The oldest is forgotten.
 */
export class SeenCalls {
  private readonly ids = new Set<string>();

  add(id: string): void {
    this.ids.add(id);
    if (this.ids.size <= most) return;
    for (const oldest of this.ids) {
      this.ids.delete(oldest);
      return;
    }
  }

  has(id: string): boolean {
    return this.ids.has(id);
  }
}
