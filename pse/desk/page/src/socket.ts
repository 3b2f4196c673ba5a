// A WebSocket that is opened again whenever it is lost.

const FIRST_PAUSE = 300;
const LONGEST_PAUSE = 5000;

export interface Listener {
  opened(send: (text: string) => void): void;
  received(text: string): void;
  lost(): void;
}

export function keepOpen(path: string, listener: Listener) {
  let pause = FIRST_PAUSE;
  const open = () => {
    const socket = new WebSocket(new URL(path, location.href.replace(/^http/, "ws")));
    socket.onopen = () => {
      pause = FIRST_PAUSE;
      listener.opened((text) => socket.send(text));
    };
    socket.onmessage = (message) => listener.received(String(message.data));
    socket.onclose = () => {
      listener.lost();
      setTimeout(open, pause);
      pause = Math.min(2 * pause, LONGEST_PAUSE);
    };
  };
  open();
}
