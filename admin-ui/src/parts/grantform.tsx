// Grants: the form, and the table that principals, groups, agents and the list of all share. Says what a grant reaches before it is saved.

import { Anchor, Button, Group, MultiSelect, NumberInput, SegmentedControl, Select, Stack, Switch, TagsInput, Text, TextInput } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState, type FormEvent, type ReactNode } from 'react'
import { api, ok, Problem } from '../api/client'
import { queries, touched } from '../api/queries'
import type { Grant, GrantSpec } from '../api/shapes'
import { s } from '../strings'
import { grantName, granteeOf, OPERATIONS, selectors, selects, TALK } from './access'
import { Dialog } from './dialog'
import { LimitFields, limitWords } from './limits'
import { Mark } from './marks'
import { callLimits } from './quota'
import { Wrong } from './states'
import { DataTable, type Columns } from './table'
import { Said } from './text'
import { useTell } from './toast'

/** Whom a new grant is for, where the view says it already. */
export interface Grantee {
  kind: 'principal' | 'group'
  name: string
}

/** What is out of the ordinary in a grant: that it denies, that it only watches. */
export function GrantMarks({ spec }: { spec: GrantSpec }): ReactNode {
  return (
    <>
      {spec.effect === 'deny' ? <Mark tone="bad">{s.denies}</Mark> : <Mark tone="good">{s.allows}</Mark>}
      {spec.mode === 'shadow' && <> <Mark tone="warn">{s.shadowMark}</Mark></>}
    </>
  )
}

export function GranteeLink({ tenant, grant }: { tenant: string; grant: Grant }): ReactNode {
  const to = granteeOf(grant)
  if (to.kind === 'principal') return <Anchor component={Link} to={`/t/${tenant}/principals/${to.name}` as string} size="sm">{to.name}</Anchor>
  return <><Anchor component={Link} to={`/t/${tenant}/groups` as string} search={{ group: to.name } as never} size="sm"><Said>{to.name}</Said></Anchor> <Text span size="xs" c="dimmed">{s.groupWord}</Text></>
}

/** Grants as a table: a name that opens, what it says, and its ways out. */
export function GrantTable({ tenant, grants, label, mayWrite, showGrantee = true, searchable = false, edit }: {
  tenant: string
  grants: Grant[]
  label: string
  mayWrite: boolean
  showGrantee?: boolean
  searchable?: boolean
  edit: (grant: Grant) => void
}): ReactNode {
  const remove = useRemoveGrant(tenant)
  const columns: Columns<Grant> = [
    { id: 'name', header: s.grant, accessorFn: (one) => one.name, cell: ({ row }) => <Anchor component={Link} to={`/t/${tenant}/grants/${row.original.name}` as string} size="sm" fw={550}>{row.original.name}</Anchor> },
    ...(showGrantee ? [{ id: 'grantee', header: s.grantFor, accessorFn: (one: Grant) => granteeOf(one).name, cell: ({ row }: { row: { original: Grant } }) => <GranteeLink tenant={tenant} grant={row.original} /> }] : []),
    { id: 'effect', header: s.effect, accessorFn: (one) => `${one.spec.effect === 'deny' ? s.denies : s.allows}${one.spec.mode === 'shadow' ? ` ${s.shadowMark}` : ''}`, cell: ({ row }) => <GrantMarks spec={row.original.spec} /> },
    { id: 'cards', header: s.navAgents, accessorFn: (one) => (one.spec.cards ?? []).join(', '), cell: ({ getValue }) => <Said>{String(getValue())}</Said> },
    { id: 'operations', header: s.operations, accessorFn: (one) => (one.spec.operations ?? []).join(', ') },
    { id: 'limits', header: s.limits, accessorFn: (one) => limitWords(one.spec.limits), cell: ({ getValue }) => String(getValue()) || <span className="muted">{s.none}</span> },
    {
      id: 'actions', header: () => <span className="skip">{s.actions}</span>,
      cell: ({ row }) => mayWrite && (
        <div style={{ textAlign: 'right', whiteSpace: 'nowrap' }}>
          <Button size="compact-xs" variant="default" mr={6} onClick={() => edit(row.original)} aria-label={`${s.edit} ${row.original.name}`}>{s.edit}</Button>
          <Button size="compact-xs" variant="default" onClick={() => void remove(row.original)} aria-label={`${s.remove} ${row.original.name}`}>{s.remove}</Button>
        </div>
      ),
    },
  ]
  return <DataTable rows={grants} columns={columns} label={label} searchable={searchable} />
}

/** Takes a grant away, with a way back. */
export function useRemoveGrant(tenant: string): (grant: Grant) => Promise<boolean> {
  const client = useQueryClient()
  const tell = useTell()
  const fail = (error: unknown) => tell(error instanceof Problem ? error.message : s.pageFailed, { bad: true })
  return async (grant) => {
    try {
      await ok(api.DELETE('/api/v1/tenants/{tenant}/grants/{name}', { params: { path: { tenant, name: grant.name }, header: { 'If-Match': grant.revision } } }))
    } catch (error) {
      fail(error)
      return false
    }
    const again = async () => {
      await ok(api.POST('/api/v1/tenants/{tenant}/grants', { params: { path: { tenant } }, body: { name: grant.name, spec: grant.spec } as never }))
      await touched(client, 'grants', 'limits')
    }
    tell(s.grantRemoved, { undo: () => void again().catch(fail) })
    await touched(client, 'grants', 'limits')
    return true
  }
}

export function GrantForm({ tenant, grantee, grant, close }: {
  tenant: string
  /** Whom a new one is for; without, the form asks. */
  grantee?: Grantee | undefined
  grant?: Grant | undefined
  close: () => void
}): ReactNode {
  const cards = useQuery(queries.cards(tenant))
  const grants = useQuery(queries.grants(tenant))
  const principals = useQuery(queries.principals(tenant))
  const client = useQueryClient()
  const [who, setWho] = useState<Grantee>(grant ? granteeOf(grant) : grantee ?? { kind: 'principal', name: '' })
  const [typed, setTyped] = useState<string>()
  const [spec, setSpec] = useState<GrantSpec>(grant?.spec ?? { cards: [], operations: TALK })
  const [error, setError] = useState<unknown>()
  const [busy, setBusy] = useState(false)
  const problem = error instanceof Problem ? error : undefined
  const name = typed ?? grantName(who.name, (grants.data ?? []).map((one) => one.name))
  const denies = spec.effect === 'deny'
  const set = (part: Partial<GrantSpec>) => setSpec((now) => tidy({ ...now, ...part }))
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    // What others wrote into the grant stays, members that this form does not know too.
    const wanted = tidy({ ...spec, ...(who.kind === 'group' ? { group: who.name, principal: '' } : { principal: who.name, group: '' }) })
    try {
      if (grant) await ok(api.PUT('/api/v1/tenants/{tenant}/grants/{name}', { params: { path: { tenant, name: grant.name }, header: { 'If-Match': grant.revision } }, body: { spec: wanted } as never }))
      else await ok(api.POST('/api/v1/tenants/{tenant}/grants', { params: { path: { tenant } }, body: { name, spec: wanted } as never }))
      await touched(client, 'grants', 'limits')
      close()
    } catch (refused) {
      setError(refused)
      await touched(client, 'grants')
    } finally {
      setBusy(false)
    }
  }
  const reached = (cards.data ?? []).filter((card) => selects({ spec } as Grant, card)).map((card) => card.name)
  const groups = [...new Set([...(principals.data ?? []).flatMap((one) => one.spec.groups ?? []), ...(grants.data ?? []).flatMap((one) => one.spec.group || [])])].sort()
  return (
    <Dialog close={close} title={grant ? `${s.edit} ${grant.name}` : s.newGrant} size="lg">
      <form onSubmit={(event) => void submit(event)}>
        <Stack gap={14}>
          {!grant && !grantee && (
            <Group align="end" gap={10} wrap="nowrap">
              <SegmentedControl
                aria-label={s.grantFor} value={who.kind} onChange={(kind) => setWho({ kind: kind as Grantee['kind'], name: '' })}
                data={[{ value: 'principal', label: s.principal }, { value: 'group', label: s.groupWord }]}
              />
              {who.kind === 'principal'
                ? <Select label={s.principal} style={{ flex: 1 }} data={(principals.data ?? []).map((one) => one.name)} value={who.name || null} onChange={(value) => setWho({ kind: 'principal', name: value ?? '' })} searchable error={problem?.of('spec.principal')} />
                : <TagsInput label={s.groupWord} style={{ flex: 1 }} data={groups} value={who.name ? [who.name] : []} onChange={(all) => setWho({ kind: 'group', name: all.at(-1) ?? '' })} error={problem?.of('spec.group')} splitChars={[]} acceptValueOnBlur />}
            </Group>
          )}
          {!grant && <TextInput label={s.name} description={s.nameRule} value={name} onChange={(event) => setTyped(event.currentTarget.value)} required withAsterisk={false} error={problem?.of('name') ?? (problem?.code === 'name_taken' ? problem.message : undefined)} />}
          <Group grow align="start">
            <Select label={s.effect} allowDeselect={false} data={[{ value: 'allow', label: s.effectAllow }, { value: 'deny', label: s.effectDeny }]} value={spec.effect ?? 'allow'} onChange={(value) => set(value === 'deny' ? { effect: 'deny', limits: undefined, max_delegation_depth: undefined, delegation_loops: undefined } : { effect: undefined })} error={problem?.of('effect')} />
            <Select label={s.mode} allowDeselect={false} data={[{ value: 'enforce', label: s.modeEnforce }, { value: 'shadow', label: s.modeShadow }]} value={spec.mode ?? 'enforce'} onChange={(value) => set({ mode: value === 'shadow' ? 'shadow' : undefined })} error={problem?.of('mode')} />
          </Group>
          {spec.mode === 'shadow' && <Text size="xs" c="dimmed">{denies ? s.shadowDenyHint : s.shadowAllowHint}</Text>}
          <TagsInput label={s.navAgents} description={s.cardsHint} data={selectors(cards.data ?? [])} value={spec.cards ?? []} onChange={(chosen) => set({ cards: chosen })} error={problemUnder(problem, 'cards')} acceptValueOnBlur />
          {(spec.cards ?? []).length > 0 && cards.data && <Text size="xs" c="dimmed" aria-live="polite">{s.reaches(reached.length)} <Said>{reached.slice(0, 8).join(', ')}</Said>{reached.length > 8 && ' …'}</Text>}
          <MultiSelect label={s.operations} data={['*', ...OPERATIONS]} value={spec.operations ?? []} onChange={(operations) => set({ operations })} searchable error={problemUnder(problem, 'operations')} />
          <Select
            label={s.callModes} allowDeselect={false} value={(spec.modes ?? []).length === 1 ? spec.modes![0]! : ''} onChange={(value) => set({ modes: value ? [value] : undefined })} error={problemUnder(problem, 'modes')}
            data={[{ value: '', label: s.modesBoth }, { value: 'unary', label: s.modesUnary }, { value: 'stream', label: s.modesStream }]}
          />
          {!denies && (
            <>
              <Group grow align="start">
                <NumberInput label={s.delegationDepth} description={s.delegationDepthHint} min={0} allowDecimal={false} placeholder={s.unlimited} value={spec.max_delegation_depth ?? ''} onChange={(value) => set({ max_delegation_depth: value === '' ? undefined : Number(value) })} error={problem?.of('max_delegation_depth')} />
                <Switch mt={26} label={s.delegationLoops} description={s.delegationLoopsHint} checked={spec.delegation_loops ?? false} onChange={(event) => set({ delegation_loops: event.currentTarget.checked || undefined })} />
              </Group>
              <LimitFields limits={callLimits(spec.limits)} set={(limits) => set({ limits: limits as Record<string, number> })} problem={problem} />
            </>
          )}
          <Wrong error={error} />
          <Group justify="flex-end"><Button type="submit" loading={busy} disabled={(spec.cards ?? []).length === 0 || (spec.operations ?? []).length === 0 || who.name === ''}>{s.save}</Button></Group>
        </Stack>
      </form>
    </Dialog>
  )
}

/** Without members that say nothing. */
function tidy(spec: { [name in keyof GrantSpec]?: GrantSpec[name] | undefined }): GrantSpec {
  const kept = Object.entries(spec).filter(([name, value]) => value !== undefined && value !== '' && !(name === 'limits' && Object.keys(value as object).length === 0))
  return { cards: [], operations: [], ...Object.fromEntries(kept) }
}

/** What is said of a list or of one of its elements. */
function problemUnder(problem: Problem | undefined, name: string): string | undefined {
  return problem?.fields.find((field) => new RegExp(`(^|\\.)${name}(\\.\\d+)?$`).test(field.path))?.problem
}
