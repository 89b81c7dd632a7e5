// The OAuth client by which the gateway authorises an agent in the middle of a task: set, replaced and removed, never read.

import { Button, Group, PasswordInput, Stack, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import { api, ok, Problem } from '../api/client'
import { touched } from '../api/queries'
import { writable, type Card } from '../api/shapes'
import { s } from '../strings'
import { Dialog } from './dialog'
import { Mark } from './marks'
import { Confirm } from './pieces'
import { inTaskOf, IN_TASK_FIELDS, type InTaskFields } from './secret'
import { Wrong } from './states'
import { useTell } from './toast'

/** Whether there is one, and its ways to be replaced or removed. */
export function InTaskState({ card, mayWrite }: { card: Card; mayWrite: boolean }): ReactNode {
  const isSet = card.spec.upstream?.['in_task_authorisation'] !== undefined
  const [replacing, setReplacing] = useState(false)
  const [removing, setRemoving] = useState(false)
  const client = useQueryClient()
  const tell = useTell()
  const path = { tenant: card.tenant, name: card.name }
  const put = async (client_: Record<string, string>) => {
    const now = (await ok(api.GET('/api/v1/tenants/{tenant}/cards/{name}', { params: { path } }))) as unknown as Card
    const spec = writable(now.spec)
    // The document and the card's own credential stay as they are.
    delete spec.card
    spec.upstream = { ...spec.upstream, in_task_authorisation: client_ }
    delete spec.upstream.credential
    await ok(api.PUT('/api/v1/tenants/{tenant}/cards/{name}', { params: { path, header: { 'If-Match': now.revision } }, body: { spec } as never }))
    await touched(client, 'cards')
  }
  return (
    <>
      <Group gap={8}>
        {isSet ? <><Mark tone="good">{s.isSet}</Mark><span>{s.inTaskIs}</span></> : <span className="muted">{s.inTaskNone}</span>}
        {mayWrite && <Button size="compact-xs" variant="default" onClick={() => setReplacing(true)}>{isSet ? s.anotherClient : s.setClient}</Button>}
        {mayWrite && isSet && <Button size="compact-xs" variant="default" onClick={() => setRemoving(true)}>{s.noClient}</Button>}
      </Group>
      {replacing && <Replace put={put} close={() => setReplacing(false)} />}
      <Confirm
        open={removing} close={() => setRemoving(false)} title={s.removeInTask} consequence={s.removeInTaskText} action={s.remove}
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

function Replace({ put, close }: { put: (client: Record<string, string>) => Promise<void>; close: () => void }): ReactNode {
  const [fields, setFields] = useState<InTaskFields>({})
  const [error, setError] = useState<unknown>()
  const [busy, setBusy] = useState(false)
  const tell = useTell()
  const save = async () => {
    setBusy(true)
    try {
      await put(inTaskOf(fields))
      tell(s.saved)
      close()
    } catch (refused) {
      setError(refused)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Dialog close={close} title={s.inTask} size="lg">
      <form onSubmit={(event) => { event.preventDefault(); void save() }}>
        <Stack gap={14}>
          {IN_TASK_FIELDS.map(({ name, secret, optional }) => {
            const shared = {
              label: name === 'header' ? s.inTaskHeader : s.credentialFields[name], autoComplete: 'off', withAsterisk: false, required: !optional, value: fields[name] ?? '',
              description: name === 'header' ? s.inTaskHeaderHint : optional ? s.optional : undefined,
              onChange: (event: { currentTarget: { value: string } }) => setFields({ ...fields, [name]: event.currentTarget.value }),
            }
            return secret ? <PasswordInput key={name} {...shared} /> : <TextInput key={name} {...shared} placeholder={name === 'token_url' ? 'https://login.example.com/oauth/token' : undefined} />
          })}
          <Wrong error={error} />
          <Group justify="flex-end"><Button type="submit" loading={busy}>{s.save}</Button></Group>
        </Stack>
      </form>
    </Dialog>
  )
}
