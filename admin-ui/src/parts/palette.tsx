// Ctrl-K: every view, agent, principal, policy, grant and issuer by its name.

import { Modal, Text, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from 'react'
import { queries } from '../api/queries'
import { s } from '../strings'
import { matches, type Entry } from './match'

export function Palette({ opened, close, tenant, platform }: {
  opened: boolean
  close: () => void
  tenant: string | undefined
  platform: boolean
}): ReactNode {
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const navigate = useNavigate()
  const list = useRef<HTMLDivElement>(null)
  const on = opened && tenant !== undefined
  const cards = useQuery({ ...queries.cards(tenant ?? ''), enabled: on })
  const principals = useQuery({ ...queries.principals(tenant ?? ''), enabled: on })
  const grants = useQuery({ ...queries.grants(tenant ?? ''), enabled: on })
  const issuers = useQuery({ ...queries.issuers(tenant ?? ''), enabled: on })
  const policies = useQuery({ ...queries.policies(tenant ?? ''), enabled: on })
  useEffect(() => {
    setText('')
    setAt(0)
  }, [opened])
  const entries = useMemo((): Entry[] => {
    const t = `/t/${tenant ?? ''}`
    const views: Entry[] = tenant
      ? [
          { label: s.navMission, kind: s.groupTraffic, to: `${t}/mission` }, { label: s.navAudit, kind: s.groupTraffic, to: `${t}/audit` },
          { label: s.navChanges, kind: s.groupTraffic, to: `${t}/changes` },
          { label: s.navAgents, kind: s.groupTenant, to: `${t}/agents` }, { label: s.register, kind: s.groupTenant, to: `${t}/register` },
          { label: s.navPrincipals, kind: s.groupTenant, to: `${t}/principals` }, { label: s.navPolicies, kind: s.groupTenant, to: `${t}/policies` },
          { label: s.navKeys, kind: s.groupTenant, to: `${t}/signing-keys` },
          { label: s.navGroups, kind: s.groupAccess, to: `${t}/groups` }, { label: s.navGrants, kind: s.groupAccess, to: `${t}/grants` },
          { label: s.navConditions, kind: s.groupAccess, to: `${t}/conditions` }, { label: s.navExplain, kind: s.groupAccess, to: `${t}/explain` }, { label: s.navLimits, kind: s.groupAccess, to: `${t}/limits` },
          { label: s.navIssuers, kind: s.groupAccess, to: `${t}/issuers` },
        ]
      : []
    views.push({ label: s.navSettings, kind: s.groupGateway, to: '/settings' }, { label: s.navTenants, kind: s.groupGateway, to: '/tenants' })
    if (platform) views.push({ label: s.navAdmins, kind: s.groupGateway, to: '/admins' }, { label: s.navAllChanges, kind: s.groupGateway, to: '/changes' })
    const named = (all: { name: string }[] | undefined, kind: string, path: string): Entry[] =>
      (all ?? []).map((one) => ({ label: one.name, kind, to: `${t}/${path}/${one.name}` }))
    return [
      ...views, ...named(cards.data, s.agent, 'agents'), ...named(principals.data, s.principal, 'principals'), ...named(policies.data, s.policy, 'policies'),
      ...named(grants.data, s.grant, 'grants'), ...named(issuers.data, s.issuer, 'issuers'),
    ]
  }, [tenant, platform, cards.data, principals.data, policies.data, grants.data, issuers.data])
  const found = matches(entries, text)
  const go = (entry: Entry | undefined) => {
    if (!entry) return
    close()
    void navigate({ to: entry.to })
  }
  const keys = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0) {
      event.preventDefault()
      const next = (at + step + found.length) % Math.max(1, found.length)
      setAt(next)
      list.current?.children[next]?.scrollIntoView({ block: 'nearest' })
    }
    if (event.key === 'Enter') {
      event.preventDefault()
      go(found[at])
    }
  }
  return (
    <Modal.Root opened={opened} onClose={close} size={560} yOffset="12vh" transitionProps={{ duration: 0 }}>
      <Modal.Overlay />
      <Modal.Content aria-label={s.search}><Modal.Body p={0}>
      <TextInput
        aria-label={s.search} placeholder={s.searchHint} size="md" variant="unstyled" px={16} py={4} value={text} data-autofocus
        role="combobox" aria-expanded="true" aria-controls="palette" aria-activedescendant={found[at] ? `palette-${at}` : undefined}
        onChange={(event) => {
          setText(event.currentTarget.value)
          setAt(0)
        }}
        onKeyDown={keys}
      />
      <div id="palette" role="listbox" aria-label={s.search} ref={list} style={{ maxHeight: 360, overflow: 'auto', borderTop: '1px solid var(--line)', padding: 6 }}>
        {found.map((entry, index) => (
          <div
            key={entry.to} id={`palette-${index}`} role="option" aria-selected={index === at} onClick={() => go(entry)} onMouseMove={() => setAt(index)}
            style={{ display: 'flex', justifyContent: 'space-between', padding: '7px 10px', borderRadius: 6, cursor: 'pointer', fontSize: 14, background: index === at ? 'var(--info-soft)' : undefined }}
          >
            <span>{entry.label}</span><span style={{ fontSize: 12 }}>{entry.kind}</span>
          </div>
        ))}
        {found.length === 0 && <Text size="sm" c="dimmed" p={10}>{s.searchNothing}</Text>}
      </div>
      </Modal.Body></Modal.Content>
    </Modal.Root>
  )
}
