// Requests to the server; what it refuses is thrown with its own words.

import type { Problem } from "./protocol";

export class ServerError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly help: string | null,
    readonly diagnostics: Problem[],
    readonly body: Record<string, unknown>,
  ) {
    super(message);
  }
}

/** The server can not be reached: nothing was refused, nothing was done. */
export class Unreachable extends Error {}

export async function request<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(`api/${path}`, {
    method,
    ...(body === undefined ? {} : { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }),
  }).catch(() => {
    throw new Unreachable("the server of this desk does not answer");
  });
  if (response.status === 401) throw new Unreachable("the desk was started again; open the address that it printed in another tab");
  if (response.status === 204) return undefined as T;
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw refusal(response.status, answer);
  return answer as T;
}

function refusal(status: number, answer: Record<string, any>): ServerError {
  const { message = `the server answers with status ${status}`, help = null, diagnostics = [] } = answer.error ?? {};
  return new ServerError(status, message, help, diagnostics, answer);
}

export const query = (values: Record<string, string | number>) =>
  new URLSearchParams(Object.entries(values).map(([name, value]) => [name, String(value)])).toString();
