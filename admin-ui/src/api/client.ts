// The one way to the admin API: typed by its own description, with the proof that browsers' writes carry.

import createClient, { type Middleware } from 'openapi-fetch'
import type { components, paths } from './schema'

export type Schemas = components['schemas']
export type Me = Schemas['Me']
export type FieldProblem = Schemas['FieldProblem']

/** What a refusal of the API says; every view shows it the same way. */
export class Problem extends Error {
  readonly status: number
  readonly code: string
  readonly fields: FieldProblem[]
  readonly correlation: string | undefined

  constructor(status: number, code: string, message: string, fields: FieldProblem[] = [], correlation?: string) {
    super(message)
    this.status = status
    this.code = code
    this.fields = fields
    this.correlation = correlation
  }

  /** What is said about one field of a form, by the end of its path. */
  of(path: string): string | undefined {
    return this.fields.find((field) => field.path === path || field.path.endsWith(`.${path}`))?.problem
  }
}

let csrf: string | undefined

/** Remembers what writes of this session carry. */
export function trust(me: Me | null): void {
  csrf = me?.csrf ?? undefined
}

const SAFE = new Set(['GET', 'HEAD'])

/** Headers for a request that is made by hand. */
export function writeHeaders(): Record<string, string> {
  return csrf === undefined ? {} : { 'X-Chancery-CSRF': csrf }
}

const proof: Middleware = {
  onRequest({ request }) {
    if (!SAFE.has(request.method)) for (const [name, value] of Object.entries(writeHeaders())) request.headers.set(name, value)
    return request
  },
}

export const api = createClient<paths>({ baseUrl: globalThis.location?.origin ?? '' })
api.use(proof)

/** For bodies that are JSON text already. */
export const asTyped = (text: unknown): string => String(text)

/** Heard when the session has ended, whoever notices first. */
export const SIGNED_OUT = 'chancery:signed-out'

/** The Problem of a response that is a refusal. */
export function problemOf(status: number, body: unknown): Problem {
  const said = (typeof body === 'object' && body !== null ? body : {}) as Partial<Schemas['ApiError']>
  const text = said.message ?? (status >= 500 ? 'The gateway failed to answer.' : 'The gateway refused this.')
  return new Problem(status, said.code ?? 'unknown', text, said.fields ?? [], said.correlation_id)
}

type Answer<T> = { data?: T; error?: unknown; response: Response }

/** The data, or the Problem thrown. */
export async function ok<T>(pending: Promise<Answer<T>>): Promise<NonNullable<T>> {
  let answer: Answer<T>
  try {
    answer = await pending
  } catch {
    throw new Problem(0, 'unreachable', 'The gateway can’t be reached.')
  }
  if (answer.response.ok) return (answer.data ?? {}) as NonNullable<T>
  const problem = problemOf(answer.response.status, answer.error)
  if (problem.status === 401 && problem.code === 'unauthenticated') window.dispatchEvent(new Event(SIGNED_OUT))
  throw problem
}

export function ifMatch(revision: number): { header: { 'If-Match': number } } {
  return { header: { 'If-Match': revision } }
}
