// The fields of a credential towards an agent, all types; and replacing or removing one that is set.

import { Alert, Button, Group, PasswordInput, Select, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import { api, ok, Problem } from '../api/client'
import { touched } from '../api/queries'
import type { Card } from '../api/shapes'
import { s } from '../strings'
import { Dialog } from './dialog'
import { Mark } from './marks'
import { Confirm } from './pieces'
import { CREDENTIAL_FIELDS, CREDENTIAL_KINDS, credentialOf, NO_CREDENTIAL, type Credential, type CredentialKind } from './secret'
import { Wrong } from './states'
import { useTell } from './toast'

export function CredentialFields({ credential, set, kinds = CREDENTIAL_KINDS }: {
  credential: Credential
  set: (credential: Credential) => void
  kinds?: readonly CredentialKind[]
}): ReactNode {
  const exchanged = credential.type === 'exchange'
  return (
    <>
      <Select
        label={s.kind} value={credential.type} allowDeselect={false} maw={420}
        data={kinds.map((value) => ({ value, label: s.credentialKinds[value] }))} onChange={(value) => set({ type: (value ?? 'none') as CredentialKind, fields: {} })}
      />
      {credential.type !== 'none' && <Text size="sm" c="dimmed">{s.credentialTexts[credential.type]}</Text>}
      {credential.type === 'forward' && <Alert color="orange" variant="light" title={<span style={{ color: 'var(--warn)' }}>{s.forwardTitle}</span>}><Text size="sm">{s.forwardWarning}</Text></Alert>}
      {CREDENTIAL_FIELDS[credential.type].map(({ name, secret, optional }) => {
        const shared = {
          label: s.credentialFields[name], autoComplete: 'off', withAsterisk: false, required: !optional, value: credential.fields[name] ?? '',
          description: exchanged && name === 'token_url' ? s.exchangeHint : optional ? s.optional : undefined,
          onChange: (event: { currentTarget: { value: string } }) => set({ ...credential, fields: { ...credential.fields, [name]: event.currentTarget.value } }),
        }
        if (name === 'certificate' || name === 'key') return <Textarea key={name} {...shared} autosize minRows={3} maxRows={8} placeholder={name === 'key' ? '-----BEGIN PRIVATE KEY-----' : '-----BEGIN CERTIFICATE-----'} styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }} spellCheck={false} />
        if (secret) return <PasswordInput key={name} {...shared} />
        return <TextInput key={name} {...shared} placeholder={PLACEHOLDERS[name]} />
      })}
      {credential.type !== 'none' && credential.type !== 'forward' && <Text size="xs" c="dimmed">{s.credentialNote}</Text>}
    </>
  )
}

const PLACEHOLDERS: Partial<Record<string, string>> = { name: 'X-API-Key', token_url: 'https://login.example.com/oauth/token' }

/** What is set, and its ways to be replaced or removed. The secret itself is never shown. */
export function CredentialState({ card, mayWrite }: { card: Card; mayWrite: boolean }): ReactNode {
  const kind = card.spec.upstream?.credential?.type ?? 'none'
  const [replacing, setReplacing] = useState(false)
  const [removing, setRemoving] = useState(false)
  const client = useQueryClient()
  const tell = useTell()
  const put = async (body: Record<string, string>) => {
    await ok(api.PUT('/api/v1/tenants/{tenant}/cards/{name}/credential', { params: { path: { tenant: card.tenant, name: card.name } }, body: body as never }))
    await touched(client, 'cards')
  }
  return (
    <>
      <Group gap={8}>
        {kind === 'none' ? <span className="muted">{s.credentialKinds.none}</span> : <><Mark tone={kind === 'unreadable' ? 'bad' : kind === 'forward' ? 'warn' : 'good'}>{kind === 'unreadable' ? s.unreadable : s.isSet}</Mark><span>{(s.credentialKinds as Record<string, string>)[kind] ?? kind}</span></>}
        {mayWrite && <Button size="compact-xs" variant="default" onClick={() => setReplacing(true)}>{kind === 'none' ? s.setCredential : s.replace}</Button>}
        {mayWrite && kind !== 'none' && <Button size="compact-xs" variant="default" onClick={() => setRemoving(true)} aria-label={`${s.remove}: ${s.credential}`}>{s.remove}</Button>}
      </Group>
      {replacing && <Replace card={card} put={put} close={() => setReplacing(false)} />}
      <Confirm
        open={removing} close={() => setRemoving(false)} title={s.removeCredential} consequence={s.removeCredentialText} action={s.remove}
        confirm={async () => {
          try {
            await put({ type: 'none' })
            tell(s.credentialRemoved)
          } catch (error) {
            tell(error instanceof Problem ? error.message : s.pageFailed, { bad: true })
            throw error
          }
        }}
      />
    </>
  )
}

function Replace({ card, put, close }: { card: Card; put: (body: Record<string, string>) => Promise<void>; close: () => void }): ReactNode {
  const now = card.spec.upstream?.credential?.type as CredentialKind | undefined
  const [credential, setCredential] = useState<Credential>(now && CREDENTIAL_KINDS.includes(now) && now !== 'none' ? { type: now, fields: {} } : { ...NO_CREDENTIAL, type: 'bearer' })
  const [error, setError] = useState<unknown>()
  const [busy, setBusy] = useState(false)
  const tell = useTell()
  const save = async () => {
    setBusy(true)
    try {
      await put(credentialOf(credential))
      tell(s.saved)
      close()
    } catch (refused) {
      setError(refused)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Dialog close={close} title={s.credential} size="lg">
      <form onSubmit={(event) => { event.preventDefault(); void save() }}>
        <Stack gap={14}>
          <CredentialFields credential={credential} set={setCredential} kinds={CREDENTIAL_KINDS.filter((kind) => kind !== 'none')} />
          <Wrong error={error} />
          <Group justify="flex-end"><Button type="submit" loading={busy}>{s.save}</Button></Group>
        </Stack>
      </form>
    </Dialog>
  )
}
