// While a connection is drawn over a port that it does not fit: why not.

import { useConnection } from "@xyflow/react";
import { useEffect, useState } from "react";
import { whyNot } from "../program";
import { useDesk } from "../store";

export function WhyNot() {
  const connection = useConnection();
  const targets = useDesk((desk) => desk.targets);
  const [answer, setAnswer] = useState<string | null>(null);
  const { fromHandle, toHandle } = connection.inProgress ? connection : { fromHandle: null, toHandle: null };
  const [from, to] = [fromHandle && `${fromHandle.nodeId}\n${fromHandle.id}`, toHandle && `${toHandle.nodeId}\n${toHandle.id}`];
  const quick = targets?.find((one) => `${one.id}\n${one.port}` === to)?.reason ?? null;
  useEffect(() => {
    setAnswer(null);
    if (!from || !to || from === to) return;
    const [[id, port], [target, targetPort]] = [from.split("\n"), to.split("\n")];
    let wanted = true;
    whyNot(id, port, { id: target, port: targetPort }).then(
      ({ ok, reason, help }) => wanted && setAnswer(ok ? null : [reason, help].filter(Boolean).join("\n")),
      () => undefined,
    );
    return () => void (wanted = false);
  }, [from, to]);
  const text = answer ?? quick;
  if (!connection.inProgress || !to || !text) return null;
  return (
    <div className="why" role="status" style={place(connection.pointer)}>
      {text}
    </div>
  );
}

function place({ x, y }: { x: number; y: number }): React.CSSProperties {
  return { position: "absolute", left: x + 16, top: y + 16, whiteSpace: "pre-wrap" };
}
