// Conditions: what grants cannot say (time, network, metadata, extensions), in Cedar. One document a tenant, with its versions.

import { Button, Group, Select, Stack, Tabs, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useEffect, useState, type FormEvent, type ReactNode } from 'react'
import { api, ok, Problem, type FieldProblem } from '../api/client'
import { touched } from '../api/queries'
import type { Resource } from '../api/shapes'
import { Difference, JsonEditor } from '../parts/json'
import { Mark, State } from '../parts/marks'
import { Confirm, Page, Panel } from '../parts/pieces'
import { Empty, Waiting, Wrong } from '../parts/states'
import { Said } from '../parts/text'
import { When } from '../parts/time'
import { useTell } from '../parts/toast'
import { useMay } from '../session'
import { s } from '../strings'

type ConditionsSpec = { mode?: 'enforce' | 'shadow' | 'off'; otherwise?: 'permit' | 'deny'; policies?: string }
type Conditions = Resource<ConditionsSpec>

const STARTER: ConditionsSpec = {
  mode: 'shadow',
  policies: `// Nobody writes at the weekend (UTC). It is tried first: shadow refuses nothing and records.
@id("weekend")
forbid (principal, action in Action::"write", resource)
when { [Weekday::"saturday", Weekday::"sunday"].contains(context.time.weekday) };
`,
}

export function ConditionsView(): ReactNode {
  const { tenant } = useParams({ strict: false }) as { tenant: string }
  const conditions = useQuery({ queryKey: ['conditions', tenant], queryFn: async () => (await ok(api.GET('/api/v1/tenants/{tenant}/conditions', { params: { path: { tenant } } }))).items as unknown as Conditions[] })
  const mayWrite = useMay(tenant, 'administer')
  const [making, make] = useDisclosure()
  const one = conditions.data?.[0]
  if (one) return <Document key={one.id} conditions={one} tenant={tenant} />
  return (
    <Page title={s.navConditions} lead={s.conditionsLead}>
      <Wrong error={conditions.error} retry={() => void conditions.refetch()} />
      <Panel flush>
        {conditions.isPending ? <Waiting rows={6} /> : conditions.error ? null : making && mayWrite ? <New tenant={tenant} cancel={make.close} />
          : <Empty title={s.noConditions} action={mayWrite && <Button onClick={make.open}>{s.writeConditions}</Button>}>{s.noConditionsText}</Empty>}
      </Panel>
    </Page>
  )
}

function New({ tenant, cancel }: { tenant: string; cancel: () => void }): ReactNode {
  const client = useQueryClient()
  const [name, setName] = useState('house-rules')
  const [error, setError] = useState<unknown>()
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    try {
      await ok(api.POST('/api/v1/tenants/{tenant}/conditions', { params: { path: { tenant } }, body: { name, spec: STARTER } as never }))
      await touched(client, 'conditions', 'grants')
    } catch (refused) {
      setError(refused)
    }
  }
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Stack gap={14} p={14} maw={560}>
        <TextInput label={s.name} description={s.nameRule} value={name} onChange={(event) => setName(event.currentTarget.value)} required withAsterisk={false} error={error instanceof Problem ? error.of('name') : undefined} />
        <Text size="sm" c="dimmed">{s.conditionsStarter}</Text>
        <Wrong error={error} />
        <Group><Button type="submit">{s.create}</Button><Button variant="default" onClick={cancel}>{s.cancel}</Button></Group>
      </Stack>
    </form>
  )
}

function Document({ conditions, tenant }: { conditions: Conditions; tenant: string }): ReactNode {
  const { tab = 'edit' } = useSearch({ strict: false }) as { tab?: string }
  const navigate = useNavigate()
  const client = useQueryClient()
  const tell = useTell()
  const mayWrite = useMay(tenant, 'administer')
  const [removing, remove] = useDisclosure()
  return (
    <Page title={s.navConditions} lead={s.conditionsLead} actions={mayWrite && <Button variant="default" onClick={remove.open}>{s.remove}</Button>}>
      <Group gap={10} mb={14}><Text fw={550}>{conditions.name}</Text><State of={conditions.spec.mode ?? 'enforce'} /><Text size="sm" c="dimmed">{s.changed} <When at={conditions.updated_at} style="ago" /></Text></Group>
      <Tabs value={tab} onChange={(to) => void navigate({ to: `/t/${tenant}/conditions`, search: (to === 'edit' ? {} : { tab: to }) as never })} keepMounted={false}>
        <Tabs.List mb={16}><Tabs.Tab value="edit">{s.edit}</Tabs.Tab><Tabs.Tab value="revisions">{s.revisions}</Tabs.Tab></Tabs.List>
        <Tabs.Panel value="edit"><Source key={conditions.revision} conditions={conditions} tenant={tenant} mayWrite={mayWrite} /></Tabs.Panel>
        <Tabs.Panel value="revisions"><Versions conditions={conditions} tenant={tenant} mayWrite={mayWrite} /></Tabs.Panel>
      </Tabs>
      <Confirm
        open={removing} close={remove.close} title={`${s.remove} ${conditions.name}?`} consequence={s.removeConditions} action={s.remove} word={conditions.name}
        confirm={async () => {
          try {
            await ok(api.DELETE('/api/v1/tenants/{tenant}/conditions/{name}', { params: { path: { tenant, name: conditions.name }, header: { 'If-Match': conditions.revision } } }))
          } catch (error) {
            tell(error instanceof Problem ? error.message : s.pageFailed, { bad: true })
            throw error
          }
          await touched(client, 'conditions', 'grants')
        }}
      />
    </Page>
  )
}

/** The text, checked by the gateway while it is written. */
function Source({ conditions, tenant, mayWrite }: { conditions: Conditions; tenant: string; mayWrite: boolean }): ReactNode {
  const client = useQueryClient()
  const tell = useTell()
  const [spec, setSpec] = useState<ConditionsSpec>(conditions.spec)
  const [problems, setProblems] = useState<FieldProblem[]>([])
  const [error, setError] = useState<unknown>()
  const isChanged = JSON.stringify(spec) !== JSON.stringify(conditions.spec)
  useEffect(() => {
    if (!isChanged || !mayWrite) return
    let isLast = true
    const timer = setTimeout(() => {
      ok(api.POST('/api/v1/tenants/{tenant}/authz/check', { params: { path: { tenant } }, body: { spec } as never })).then(
        () => { if (isLast) { setProblems([]); setError(undefined) } },
        (refused: unknown) => { if (isLast) { setProblems(refused instanceof Problem ? refused.fields : []); setError(refused instanceof Problem && refused.fields.length > 0 ? undefined : refused) } },
      )
    }, 400)
    return () => { isLast = false; clearTimeout(timer) }
  }, [spec, isChanged, mayWrite, tenant])
  const save = async () => {
    try {
      await ok(api.PUT('/api/v1/tenants/{tenant}/conditions/{name}', { params: { path: { tenant, name: conditions.name }, header: { 'If-Match': conditions.revision } }, body: { spec } as never }))
      await touched(client, 'conditions', 'grants')
      tell(s.policyInForce)
    } catch (refused) {
      setError(refused)
      setProblems(refused instanceof Problem ? refused.fields : [])
    }
  }
  return (
    <Stack gap={16}>
      <Panel title={s.source} actions={mayWrite && <Button size="compact-sm" onClick={() => void save()} disabled={!isChanged || problems.length > 0}>{s.save}</Button>}>
        <Stack gap={12}>
          <Group align="end" gap={12}>
            <Select label={s.mode} w={260} allowDeselect={false} disabled={!mayWrite} value={spec.mode ?? 'enforce'} onChange={(mode) => setSpec({ ...spec, mode: mode as ConditionsSpec['mode'] })} data={[{ value: 'enforce', label: s.modeEnforce }, { value: 'shadow', label: s.modeShadow }, { value: 'off', label: s.modeOff }]} />
            <Select label={s.otherwise} w={300} allowDeselect={false} disabled={!mayWrite} value={spec.otherwise ?? 'permit'} onChange={(otherwise) => setSpec({ ...spec, otherwise: otherwise as ConditionsSpec['otherwise'] })} data={[{ value: 'permit', label: s.otherwisePermit }, { value: 'deny', label: s.otherwiseDeny }]} />
          </Group>
          <JsonEditor value={spec.policies ?? ''} change={(policies) => setSpec({ ...spec, policies })} label={s.source} problems={problems} readOnly={!mayWrite} height="420px" of="cedar" />
          <div aria-live="polite">
            {problems.length === 0 && !error && <Mark tone="good">{isChanged ? s.conditionsSound : s.conditionsStored}</Mark>}
            {problems.map((one, at) => <Text key={at} size="sm" c="var(--bad)"><span className="mono">{one.path.replace(/^spec\./, '')}</span> <Said>{one.problem}</Said></Text>)}
          </div>
          <Wrong error={error} />
        </Stack>
      </Panel>
      <Text size="sm" c="dimmed">{s.conditionsHelp}</Text>
    </Stack>
  )
}

function Versions({ conditions, tenant, mayWrite }: { conditions: Conditions; tenant: string; mayWrite: boolean }): ReactNode {
  const client = useQueryClient()
  const tell = useTell()
  const [chosen, setChosen] = useState<number>()
  const name = conditions.name
  const history = useQuery({
    queryKey: ['conditions', tenant, name, 'history', conditions.revision],
    queryFn: () => ok(api.GET('/api/v1/tenants/{tenant}/conditions/{name}/history', { params: { path: { tenant, name }, query: { limit: 100 } } })),
  })
  const versions = history.data?.items ?? []
  const at = Math.max(0, versions.findIndex((one) => one.version === chosen))
  const [shown, before] = [versions[at], versions[at + 1]]
  const restore = async (version: number) => {
    try {
      await ok(api.PUT('/api/v1/tenants/{tenant}/conditions/{name}/version', { params: { path: { tenant, name }, header: { 'If-Match': conditions.revision } }, body: { version } as never }))
      await touched(client, 'conditions', 'grants')
      setChosen(undefined)
      tell(s.rolledBack(version))
    } catch (error) {
      tell(error instanceof Problem ? (error.fields[0]?.problem ?? error.message) : s.pageFailed, { bad: true })
    }
  }
  if (history.isPending) return <Panel flush><Waiting /></Panel>
  return (
    <div className="two">
      <Panel title={s.revisions} flush>
        <Wrong error={history.error} retry={() => void history.refetch()} />
        {versions.map((one, index) => (
          <button
            key={one.version} type="button" aria-pressed={index === at} onClick={() => setChosen(one.version)}
            style={{ display: 'block', width: '100%', textAlign: 'left', border: 0, borderBottom: '1px solid var(--line)', padding: '9px 14px', cursor: 'pointer', font: 'inherit', color: 'inherit', background: index === at ? 'var(--info-soft)' : 'transparent' }}
          >
            <Group justify="space-between"><Text size="sm" fw={550}>{s.versionIs(one.version)}</Text>{index === 0 && <Mark tone="good">{s.currentVersion}</Mark>}</Group>
            <div style={{ fontSize: 12 }}><When at={one.at} /> {s.changedBy} <Said>{one.changed_by}</Said>{one.note && <> · <Said>{one.note}</Said></>}</div>
          </button>
        ))}
      </Panel>
      <Panel title={s.compareWith} actions={mayWrite && shown && at > 0 && <Button size="compact-sm" variant="default" onClick={() => void restore(shown.version)}>{s.rollbackTo(shown.version)}</Button>}>
        {shown && before ? <Difference before={lines(before.spec)} after={lines(shown.spec)} /> : <Text size="sm" c="dimmed">{s.firstVersion}</Text>}
      </Panel>
    </div>
  )
}

/** Line by line, so that a difference is one of lines. */
function lines(spec: unknown): unknown {
  const { policies, ...rest } = (spec ?? {}) as ConditionsSpec
  return { ...rest, policies: String(policies ?? '').split('\n') }
}
