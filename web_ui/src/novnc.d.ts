/** What of noVNC's one class is used here; its docs/API.md has all of it. */
declare module "@novnc/novnc" {
  export default class RFB extends EventTarget {
    constructor(target: HTMLElement, url: string, options?: { wsProtocols?: string[] });
    viewOnly: boolean;
    scaleViewport: boolean;
    background: string;
    disconnect(): void;
  }
}
