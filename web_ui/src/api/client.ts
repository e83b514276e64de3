/** The one way to the server: typed by the OpenAPI document, same origin, signed in by a cookie. */

import createClient from "openapi-fetch";

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
  throw refusal(settled.response.status, settled.error);
}

function refusal(status: number, body: unknown): ApiError {
  const told = (body as Partial<components["schemas"]["ErrorAnswer"]> | null | undefined)?.error;
  if (!told) return new ApiError(status, `The platform answered ${status} without saying why.`);
  return new ApiError(status, told.message, told.field ?? null, told.suggestions, told.state ?? null);
}
