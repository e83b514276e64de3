/** The one way to the server: typed by the OpenAPI document, same origin, signed in by a cookie. */

import createClient from "openapi-fetch";

import { span } from "../format/times";
import type { components, paths } from "./schema.gen";

/** Says that this page sent a request: other sites' pages cannot, and change nothing with our cookie. */
export const FROM_PAGE = { "X-Deskhand-Page": "1" };

export const api = createClient<paths>({ baseUrl: "/", credentials: "same-origin", headers: FROM_PAGE });

/** The server refused, or did not answer (status 0). */
export class ApiError extends Error {
  readonly status: number;
  readonly field: string | null;
  readonly suggestions: readonly string[];
  /** Of a 409: the state that the thing is in. */
  readonly state: string | null;

  constructor(
    status: number,
    message: string,
    field: string | null = null,
    suggestions: readonly string[] = [],
    state: string | null = null,
  ) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.field = field;
    this.suggestions = suggestions;
    this.state = state;
  }
}

interface Answer<Data> {
  data?: Data;
  error?: unknown;
  response: Response;
}

/**
 * The data of a call, or an `ApiError` that says in a sentence why there is none.
 *
 * Usage: `const page = await answer(api.GET("/v1/rounds"))`.
 */
export async function answer<Data>(call: Promise<Answer<Data>>): Promise<Data> {
  let settled: Answer<Data>;
  try {
    settled = await call;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, "The platform does not answer. Is `deskhand serve` running?");
  }
  if (settled.response.ok) return settled.data as Data;
  throw refusal(settled.response, settled.error);
}

function refusal(response: Response, body: unknown): ApiError {
  const { status } = response;
  const told = (body as Partial<components["schemas"]["ErrorAnswer"]> | null | undefined)?.error;
  const said = told?.message ?? `The platform answered ${status} without saying why.`;
  const wait = status === 429 ? (told?.retry_s ?? Number(response.headers.get("Retry-After"))) : 0;
  const why = wait > 0 ? `${said}${later(said, wait)}` : said;
  return new ApiError(status, why, told?.field ?? null, told?.suggestions, told?.state ?? null);
}

/** When another try makes sense, as a sentence behind the one that says why this was none. */
function later(said: string, waitS: number): string {
  return `${/[.!?]$/.test(said) ? "" : "."} Try again in ${span(Math.ceil(waitS))}.`;
}
