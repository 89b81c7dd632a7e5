// The gateway's settings of a card. A setting that is left at its default is not written, so that defaults may change.

import { Button, Group, NumberInput, Select, SimpleGrid, Stack, TagsInput, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState, type FormEvent, type ReactNode } from 'react'
import { api, ok, Problem } from '../api/client'
import { queries, touched } from '../api/queries'
import { writable, type Card, type CardSpec } from '../api/shapes'
import { s } from '../strings'
import { CredentialState } from './credential'
import { InTaskState } from './intask'
import { LimitFields } from './limits'
import { Panel } from './pieces'
import { callLimits, mergedLimits } from './quota'
import { changed, CHOICES, SIZES, type Choice } from './settings'
import { Wrong } from './states'
import { useTell } from './toast'

export function CardSettings({ card }: { card: Card }): ReactNode {
  const { tenant, name } = card
  const client = useQueryClient()
  const tell = useTell()
  const policies = useQuery(queries.policies(tenant))
  const principals = useQuery(queries.principals(tenant))
  const [base, setBase] = useState(card)
  const [spec, setSpec] = useState<CardSpec>(card.spec)
  const [error, setError] = useState<unknown>()
  const [busy, setBusy] = useState(false)
  // What others change meanwhile is taken over while nothing is edited here; else it is told when this is saved. The
  // credential and the state have ways of their own to change, and are none of this form's.
  const isPristine = essence(spec) === essence(base.spec)
  useEffect(() => {
    if (card.revision === base.revision) return
    if (isPristine || essence(card.spec) === essence(base.spec)) setBase(card)
    if (isPristine) setSpec(card.spec)
  }, [card, base, isPristine])
  const problem = error instanceof Problem ? error : undefined
  const limits = (spec['limits'] ?? {}) as Record<string, unknown>
  const set = (path: readonly string[], value: unknown) => setSpec((now) => changed(now, path, value))
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    const wanted: CardSpec = { ...writable(spec), ...(card.spec.state ? { state: card.spec.state } : {}) }
    // The document stays, digit by digit; so do the credentials.
    delete wanted.card
    if (wanted.upstream) {
      wanted.upstream = { ...wanted.upstream }
      delete wanted.upstream.credential
      delete wanted.upstream['in_task_authorisation']
    }
    try {
      await ok(api.PUT('/api/v1/tenants/{tenant}/cards/{name}', { params: { path: { tenant, name }, header: { 'If-Match': base.revision } }, body: { spec: wanted } as never }))
      setError(undefined)
      setBase({ ...base, spec })
      await touched(client, 'cards', 'limits')
      tell(s.savedRevision)
    } catch (refused) {
      setError(refused)
    } finally {
      setBusy(false)
    }
  }
  const choice = (one: Choice) => {
    const value = one.path.reduce<unknown>((at, member) => (at as Record<string, unknown> | undefined)?.[member], spec)
    return (
      <Select
        key={one.path.join('.')} label={s.cardSettings[one.label]} description={s.cardSettingHints[one.label]} allowDeselect={false} error={problem?.of(one.path.join('.'))}
        data={[{ value: '', label: s.usually(one.usual ?? one.values[0] ?? '') }, ...one.values.map((word) => ({ value: word, label: one.isBoolean ? (word === 'true' ? s.yes : s.no) : word }))]} value={value === undefined || value === null ? '' : String(value)}
        onChange={(word) => set(one.path, one.isBoolean && word ? word === 'true' : word || undefined)}
      />
    )
  }
  return (
    <Stack gap={16}>
      <Panel title={s.credential}>
        <Stack gap={10}>
          <Text size="sm" c="dimmed">{s.credentialLead}</Text>
          <CredentialState card={card} mayWrite />
        </Stack>
      </Panel>
      <Panel title={s.inTask}>
        <Stack gap={10}>
          <Text size="sm" c="dimmed">{s.inTaskLead}</Text>
          <InTaskState card={card} mayWrite />
        </Stack>
      </Panel>
      <form onSubmit={(event) => void submit(event)}>
        <Stack gap={16}>
          <Panel title={s.settings}>
            <SimpleGrid cols={{ base: 1, sm: 2 }} spacing={14}>
              <Select label={s.policy} allowDeselect={false} value={spec.policy ?? ''} error={problem?.of('policy')} onChange={(value) => set(['policy'], value || undefined)} data={[{ value: '', label: s.policyDefault }, ...names(policies.data, spec.policy)]} />
              <Select label={s.boundPrincipal} description={s.boundPrincipalHint} clearable clearButtonProps={{ 'aria-label': `${s.clear}: ${s.boundPrincipal}` }} placeholder={s.none} searchable value={(spec['bound_principal'] as string | undefined) ?? null} error={problem?.of('bound_principal')} onChange={(value) => set(['bound_principal'], value || undefined)} data={names(principals.data, spec['bound_principal'] as string | undefined)} />
              <TagsInput label={s.tags} description={s.tagsHint} value={(spec['tags'] as string[] | undefined) ?? []} error={problem?.fields.find((field) => /tags(\.\d+)?$/.test(field.path))?.problem} onChange={(tags) => set(['tags'], tags.length > 0 ? tags : undefined)} acceptValueOnBlur />
              {CHOICES.filter((one) => one.path[0] !== 'upstream').map(choice)}
            </SimpleGrid>
          </Panel>
          <Panel title={s.towardsAgent}>
            <SimpleGrid cols={{ base: 1, sm: 2 }} spacing={14}>{CHOICES.filter((one) => one.path[0] === 'upstream').map(choice)}</SimpleGrid>
          </Panel>
          <Panel title={s.limits}>
            <Stack gap={14}>
              <LimitFields limits={callLimits(limits)} set={(calls) => { const next = mergedLimits(limits, calls); set(['limits'], Object.keys(next).length > 0 ? next : undefined) }} problem={problem} />
              <SimpleGrid cols={{ base: 1, xs: 2 }} spacing={12}>
                {SIZES.map((size) => (
                  <NumberInput
                    key={size} label={s.sizeNames[size]} min={1} allowDecimal={false} placeholder={s.asConfigured} thousandSeparator=" " value={(limits[size] as number | undefined) ?? ''} error={problem?.of(`limits.${size}`)}
                    onChange={(value) => { const next = { ...limits }; if (value === '') delete next[size]; else next[size] = Number(value); set(['limits'], Object.keys(next).length > 0 ? next : undefined) }}
                  />
                ))}
              </SimpleGrid>
            </Stack>
          </Panel>
          <Wrong error={error} />
          <Group><Button type="submit" loading={busy} disabled={isPristine}>{s.saveRevision}</Button></Group>
        </Stack>
      </form>
    </Stack>
  )
}

/** What of a spec this form is about. */
function essence(spec: CardSpec): string {
  return JSON.stringify({ ...spec, card: 0, state: 0, version: 0, trust_tier: 0, upstream: { ...spec.upstream, credential: 0, in_task_authorisation: 0 } })
}

function names(all: { name: string }[] | undefined, chosen: string | undefined): { value: string; label: string }[] {
  return [...new Set([...(all ?? []).map((one) => one.name), ...(chosen ? [chosen] : [])])].map((value) => ({ value, label: value }))
}
