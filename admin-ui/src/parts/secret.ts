// The gateway's credential towards an agent: what each type needs, and the document that is sent. Nothing of it is ever read back but its type.

export const CREDENTIAL_KINDS = ['none', 'bearer', 'header', 'basic', 'oauth2', 'mtls', 'exchange', 'forward'] as const
export type CredentialKind = (typeof CREDENTIAL_KINDS)[number]

export type CredentialField = 'token' | 'name' | 'value' | 'user' | 'password' | 'token_url' | 'client_id' | 'client_secret' | 'scope' | 'audience' | 'certificate' | 'key'

export interface Credential {
  type: CredentialKind
  fields: Partial<Record<CredentialField, string>>
}

export const NO_CREDENTIAL: Credential = { type: 'none', fields: {} }

/** The members of each type, in the order of the form; those with `?` may be left empty. */
export const CREDENTIAL_FIELDS: Record<CredentialKind, { name: CredentialField; secret: boolean; optional: boolean }[]> = {
  none: [],
  bearer: [field('token', true)],
  header: [field('name'), field('value', true)],
  basic: [field('user'), field('password', true)],
  oauth2: [field('token_url'), field('client_id'), field('client_secret', true), field('scope', false, true), field('audience', false, true)],
  mtls: [field('certificate'), field('key', true)],
  exchange: [field('audience'), field('token_url', false, true), field('client_id', false, true), field('client_secret', true, true), field('scope', false, true)],
  forward: [],
}

function field(name: CredentialField, secret = false, optional = false) {
  return { name, secret, optional }
}

export type InTaskFields = Partial<Record<'token_url' | 'client_id' | 'client_secret' | 'scope' | 'audience' | 'header', string>>

/** The members of the client by which tasks are authorised in their middle, in the order of the form. */
export const IN_TASK_FIELDS: { name: keyof InTaskFields; secret: boolean; optional: boolean }[] = [
  { name: 'token_url', secret: false, optional: false }, { name: 'client_id', secret: false, optional: false }, { name: 'client_secret', secret: true, optional: false },
  { name: 'scope', secret: false, optional: true }, { name: 'audience', secret: false, optional: true }, { name: 'header', secret: false, optional: true },
]

/** The document of such a client, without empty members. */
export function inTaskOf(fields: InTaskFields): Record<string, string> {
  const members = IN_TASK_FIELDS.flatMap(({ name }): [string, string][] => {
    const value = fields[name]?.trim()
    return value ? [[name, value]] : []
  })
  return { type: 'oauth2', ...Object.fromEntries(members) }
}

/** Only the members of its type, without empty ones: the API refuses others. */
export function credentialOf(given: Credential): Record<string, string> {
  const members = CREDENTIAL_FIELDS[given.type].flatMap(({ name }): [string, string][] => {
    const value = given.fields[name]
    return value ? [[name, value]] : []
  })
  return { type: given.type, ...Object.fromEntries(members) }
}
