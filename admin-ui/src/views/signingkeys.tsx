// Keys that sign the tenant's cards: next → active → retiring → gone.

import { Button, Group, Menu, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { api, ok, Problem } from '../api/client'
import { queries, touched } from '../api/queries'
import type { SigningKey } from '../api/shapes'
import { State } from '../parts/marks'
import { Confirm, Copy, Page, Panel } from '../parts/pieces'
import { Empty, Waiting, Wrong } from '../parts/states'
import { When } from '../parts/time'
import { useTell } from '../parts/toast'
import { useBase } from '../parts/useit'
import { useMay } from '../session'
import { s } from '../strings'

const NEXT: Record<string, { to: string; label: string; consequence: string } | undefined> = {
  next: { to: 'active', label: s.keyActivate, consequence: s.keyActivateText },
  active: { to: 'retiring', label: s.keyRetire, consequence: s.keyRetireText },
  retiring: { to: 'gone', label: s.keyErase, consequence: s.keyEraseText },
}

export function SigningKeys(): ReactNode {
  const { tenant } = useParams({ strict: false }) as { tenant: string }
  const keys = useQuery(queries.signingKeys(tenant))
  const client = useQueryClient()
  const tell = useTell()
  const base = useBase()
  const mayWrite = useMay(tenant, 'administer')
  const [moving, setMoving] = useState<SigningKey>()
  const step = moving ? NEXT[moving.state] : undefined
  const make = async (purpose: 'card' | 'token') => {
    try {
      await ok(api.POST('/api/v1/tenants/{tenant}/signing-keys', { params: { path: { tenant } }, body: { state: 'next', purpose } as never }))
      tell(s.keyMade)
    } catch (error) {
      tell(error instanceof Problem ? error.message : s.pageFailed, { bad: true })
    }
    await touched(client, 'signing-keys')
  }
  const jwks = `${base}/.well-known/a2a-jwks/${tenant}`
  return (
    <Page title={s.navKeys} lead={s.signingLead} actions={mayWrite && (
        <Menu position="bottom-end" transitionProps={{ duration: 0 }}>
          <Menu.Target><Button>{s.newSigningKey}</Button></Menu.Target>
          <Menu.Dropdown><Menu.Item onClick={() => void make('card')}>{s.signsCards}</Menu.Item><Menu.Item onClick={() => void make('token')}>{s.signsTokens}</Menu.Item></Menu.Dropdown>
        </Menu>
      )}>
      <Wrong error={keys.error} retry={() => void keys.refetch()} />
      <Panel flush>
        {keys.isPending ? <Waiting rows={3} /> : (keys.data ?? []).length === 0 ? <Empty title={s.noSigningKeys}>{s.noSigningKeysText}</Empty> : (
          <div className="scroll-x" tabIndex={0} role="region" aria-label={s.tableOf(s.navKeys)}>
            <table className="grid">
              <thead><tr><th scope="col">{s.keyId}</th><th scope="col">{s.signs}</th><th scope="col">{s.state}</th><th scope="col">{s.made}</th><th scope="col">{s.activated}</th><th scope="col">{s.retired}</th><th scope="col"><span className="skip">{s.actions}</span></th></tr></thead>
              <tbody>
                {(keys.data ?? []).map((key) => (
                  <tr key={key.id}>
                    <td className="mono">{key.kid}</td><td>{key.purpose === 'token' ? s.signsTokens : key.purpose === 'card' ? s.signsCards : key.purpose}</td><td><State of={key.state} /></td><td><When at={key.created_at} /></td><td><When at={key.activated_at} /></td><td><When at={key.retired_at} /></td>
                    <td style={{ textAlign: 'right' }}>{mayWrite && NEXT[key.state] && <Button size="compact-xs" variant="default" onClick={() => setMoving(key)}>{NEXT[key.state]!.label}</Button>}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Panel>
      <Group mt={14} gap={8}><Text size="sm" c="dimmed">{s.keySet}</Text><span className="mono">{jwks}</span><Copy text={jwks} /></Group>
      <Confirm
        open={moving !== undefined} close={() => setMoving(undefined)} title={step?.label ?? ''} consequence={step?.consequence ?? ''} action={step?.label ?? ''}
        confirm={async () => {
          try {
            await ok(api.PUT('/api/v1/tenants/{tenant}/signing-keys/{id}', { params: { path: { tenant, id: moving!.id }, header: { 'If-Match': moving!.revision } }, body: { state: step!.to } as never }))
            tell(s.saved)
          } catch (error) {
            tell(error instanceof Problem ? error.message : s.pageFailed, { bad: true })
            throw error
          } finally {
            await touched(client, 'signing-keys')
          }
        }}
      />
    </Page>
  )
}
