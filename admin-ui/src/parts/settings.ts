// Which settings a card has, with their values; `usual` is what holds where nothing is said.

export interface Choice {
  path: readonly string[]
  label: 'visibility' | 'direction' | 'version_mode' | 'card_members' | 'task_scope' | 'on_block' | 'dialect' | 'colon' | 'path_body' | 'r3_bytes' | 'r3_objects' | 'stamp_headers'
  values: readonly string[]
  /** In words; the first of the values if absent. */
  usual?: string
  isBoolean?: boolean
}

export const CHOICES: readonly Choice[] = [
  { path: ['visibility'], label: 'visibility', values: ['public', 'tenant', 'hidden'] },
  { path: ['direction'], label: 'direction', values: ['inbound', 'outbound'] },
  { path: ['version_mode'], label: 'version_mode', values: ['lenient', 'strict'] },
  { path: ['card_members'], label: 'card_members', values: ['union', 'v10'] },
  { path: ['task_scope'], label: 'task_scope', values: ['principal', 'tenant'] },
  { path: ['on_block'], label: 'on_block', values: ['error', 'rejected_task'] },
  { path: ['upstream', 'dialect'], label: 'dialect', usual: 'by its interfaces', values: ['v10_jsonrpc', 'v10_http_json', 'v10_grpc', 'v03_jsonrpc', 'v03_http_json', 'path_rpc'] },
  { path: ['upstream', 'colon'], label: 'colon', values: ['auto', 'percent', 'literal'] },
  { path: ['upstream', 'path_body'], label: 'path_body', values: ['envelope', 'bare'] },
  { path: ['upstream', 'r3_bytes'], label: 'r3_bytes', values: ['auto', 'single', 'double'] },
  { path: ['upstream', 'r3_objects'], label: 'r3_objects', values: ['proto', 'schema'] },
  { path: ['upstream', 'stamp_headers'], label: 'stamp_headers', usual: 'yes', values: ['true', 'false'], isBoolean: true },
]

/** Sizes and times of a card that differ from the node's. */
export const SIZES = ['request_bytes', 'response_bytes', 'unary_seconds', 'stream_idle_seconds', 'stream_total_seconds'] as const

/** A copy with the member at `path` set, or taken out where the value is undefined. Nothing else changes. */
export function changed<T extends object>(document: T, path: readonly string[], value: unknown): T {
  const [member, ...rest] = path
  if (member === undefined) return document
  const copy = { ...document } as Record<string, unknown>
  if (rest.length > 0) copy[member] = changed((copy[member] ?? {}) as object, rest, value)
  else if (value === undefined) delete copy[member]
  else copy[member] = value
  return copy as T
}
