// A small part of JSON Schema: enough to complete and to check an agent card while it is written. Knows no markup and no editor.

export interface Schema {
  type?: string
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  /** What every member is, where members have names of the author's. */
  values?: Schema
  /** What it must be one of. */
  enum?: string[]
  /** What it usually is. */
  suggest?: string[]
}

export interface Cards {
  v10: Schema
  v03: Schema
}

export type Path = (string | number)[]

/** The generation of a card: by the members that only one of them has; 1.0 while none is there. */
export function generation(card: unknown): keyof Cards {
  if (typeof card !== 'object' || card === null || Array.isArray(card) || 'supportedInterfaces' in card) return 'v10'
  return ['url', 'protocolVersion', 'preferredTransport', 'additionalInterfaces'].some((member) => member in card) ? 'v03' : 'v10'
}

/** The root for an author who has not shown yet which generation is meant: members of both. */
export function rootOf(cards: Cards, card: unknown): Schema {
  const isOpen = typeof card !== 'object' || card === null || !['supportedInterfaces', 'url', 'protocolVersion', 'preferredTransport', 'additionalInterfaces'].some((member) => member in card)
  if (!isOpen) return cards[generation(card)]
  return { ...cards.v10, properties: { ...cards.v03.properties, ...cards.v10.properties } }
}

/** What stands at a path. */
export function schemaAt(root: Schema, path: Path): Schema | undefined {
  let at: Schema | undefined = root
  for (const step of path) at = typeof step === 'number' ? at?.items : (at?.properties?.[step] ?? at?.values)
  return at
}

export interface Wrong {
  path: Path
  problem: string
  /** A missing member may yet be written; a wrong type is wrong. */
  severity: 'error' | 'warning'
}

const ARTICLES: Record<string, string> = { array: 'a list: […]', object: 'an object: {…}', string: 'a text: "…"', boolean: 'true or false', number: 'a number' }

/** Everything in a document that does not fit. Members that the schema does not know are the author's own affair. */
export function misfits(schema: Schema | undefined, value: unknown, path: Path = []): Wrong[] {
  if (!schema) return []
  if (schema.type && typeOf(value) !== schema.type) return [{ path, problem: `must be ${ARTICLES[schema.type] ?? schema.type}`, severity: 'error' }]
  if (schema.enum && !schema.enum.includes(String(value))) return [{ path, problem: `must be ${schema.enum.join(', ')}`, severity: 'error' }]
  if (Array.isArray(value)) return value.flatMap((item, at) => misfits(schema.items, item, [...path, at]))
  if (typeof value !== 'object' || value === null) return []
  const members = value as Record<string, unknown>
  const missing = (schema.required ?? []).filter((name) => !(name in members)).map((name): Wrong => ({ path, problem: `${name} is missing: ${schema.properties?.[name]?.description ?? ''}`.trim(), severity: 'warning' }))
  return [...missing, ...Object.entries(members).flatMap(([name, inner]) => misfits(schema.properties?.[name] ?? schema.values, inner, [...path, name]))]
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

export interface Offer {
  label: string
  detail: string
  /** What is written where the author has typed nothing but the beginning. */
  insert: string
}

/** Members that can be written into the object at `path`, without those that are there. */
export function members(root: Schema, path: Path, there: string[]): Offer[] {
  const schema = schemaAt(root, path)
  return Object.entries(schema?.properties ?? {}).filter(([name]) => !there.includes(name)).map(([name, inner]) => ({
    label: name, detail: `${inner.type ?? ''}${schema?.required?.includes(name) ? ', needed' : ''}${inner.description ? ` – ${inner.description}` : ''}`, insert: `"${name}": ${blank(inner)}`,
  }))
}

/** Values that can stand at `path`. */
export function values(root: Schema, path: Path): Offer[] {
  const schema = schemaAt(root, path)
  if (schema?.type === 'boolean') return ['true', 'false'].map((label) => ({ label, detail: '', insert: label }))
  return [...(schema?.enum ?? schema?.suggest ?? [])].map((label) => ({ label, detail: '', insert: JSON.stringify(label) }))
}

function blank(schema: Schema): string {
  switch (schema.type) {
    case 'array': return '[]'
    case 'object': return '{}'
    case 'boolean': return 'false'
    default: return '""'
  }
}

export interface Address {
  url: string
  binding: string
  version: string
  tenant?: string
}

/** Where the agent of a card answers, as the gateway's settings name it. */
export function addressesOf(card: unknown): Address[] {
  if (typeof card !== 'object' || card === null) return []
  const of = card as Record<string, unknown>
  const list = (value: unknown) => (Array.isArray(value) ? value : []).filter((one): one is Record<string, unknown> => typeof one === 'object' && one !== null)
  const word = (value: unknown) => (typeof value === 'string' ? value : '')
  const found: Address[] = generation(card) === 'v10'
    ? list(of['supportedInterfaces']).map((one) => ({ url: word(one['url']), binding: word(one['protocolBinding']) || 'JSONRPC', version: word(one['protocolVersion']) || '1.0', ...(word(one['tenant']) ? { tenant: word(one['tenant']) } : {}) }))
    : [
        { url: word(of['url']), binding: word(of['preferredTransport']) || 'JSONRPC', version: '0.3' },
        ...list(of['additionalInterfaces']).map((one) => ({ url: word(one['url']), binding: word(one['transport']) || 'JSONRPC', version: '0.3' })),
      ]
  const seen = new Set<string>()
  return found.filter((one) => {
    const key = `${one.url} ${one.binding} ${one.version}`
    if (one.url === '' || seen.has(key)) return false
    seen.add(key)
    return true
  })
}

/** A card to begin with. */
export const EXAMPLE_CARD = {
  name: 'My agent',
  description: 'What it does, in a sentence.',
  version: '1.0.0',
  supportedInterfaces: [{ url: 'https://agent.example.com/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  capabilities: { streaming: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'talk', name: 'Talk', description: 'Answers questions.', tags: ['chat'] }],
}
