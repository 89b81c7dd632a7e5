// One agent: what its card says, its versions, its source, a try, how to call it.

import { Alert, Anchor, Button, Group, Modal, Stack, Tabs, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { api, asTyped, ok, Problem, type FieldProblem } from '../api/client'
import { queries, touched } from '../api/queries'
import { writable, type Card } from '../api/shapes'
import { selects } from '../parts/access'
import { CardFacts } from '../parts/cardfacts'
import { CardSettings } from '../parts/cardsettings'
import { CredentialState } from '../parts/credential'
import { read, specOf, withMember } from '../parts/exact'
import { GranteeLink, GrantMarks } from '../parts/grantform'
import { UseOf } from '../parts/limits'
import { Difference, JsonEditor } from '../parts/json'
import { Mark, State } from '../parts/marks'
import { Code, Confirm, Page, Panel } from '../parts/pieces'
import { Waiting, Wrong } from '../parts/states'
import { Said } from '../parts/text'
import { When } from '../parts/time'
import { useTell } from '../parts/toast'
import { Trial } from '../parts/trial'
import { UseIt, useBase } from '../parts/useit'
import { flagWords } from '../parts/words'
import { useMay } from '../session'
import { s } from '../strings'
import { review } from './register'

const TABS = [['overview', s.overview], ['revisions', s.revisions], ['settings', s.settings], ['source', s.source], ['try', s.tryIt], ['use', s.useIt], ['card', s.publishedCard]] as const

export function Agent(): ReactNode {
  const { tenant, name } = useParams({ strict: false }) as { tenant: string; name: string }
  const { tab = 'overview' } = useSearch({ strict: false }) as { tab?: string }
  const navigate = useNavigate()
  const card = useQuery(queries.card(tenant, name))
  return (
    <Page
      title={name}
      crumbs={<><Anchor component={Link} to={`/t/${tenant}/agents` as string} size="sm">{s.agents}</Anchor><span>/</span><span>{name}</span></>}
      actions={card.data && <Actions card={card.data} />}
    >
      <Wrong error={card.error} retry={() => void card.refetch()} />
      {card.isPending && <Panel flush><Waiting rows={8} /></Panel>}
      {card.data && (
        <>
          <Group gap={10} mb={14}><State of={card.data.spec.state} /><Mark tone="calm" plain>{s.versionIs(card.data.spec.version ?? 0)}</Mark><Text size="sm" c="dimmed">{s.changed} <When at={card.data.updated_at} style="ago" /></Text></Group>
          <Tabs value={tab} onChange={(to) => void navigate({ to: `/t/${tenant}/agents/${name}`, search: (to === 'overview' ? {} : { tab: to }) as never })} keepMounted={false}>
            <Tabs.List mb={16}>{TABS.map(([id, label]) => <Tabs.Tab key={id} value={id}>{label}</Tabs.Tab>)}</Tabs.List>
            <Tabs.Panel value="overview"><Overview card={card.data} /></Tabs.Panel>
            <Tabs.Panel value="revisions"><Revisions card={card.data} /></Tabs.Panel>
            <Tabs.Panel value="settings"><Settings card={card.data} /></Tabs.Panel>
            <Tabs.Panel value="source"><Source card={card.data} /></Tabs.Panel>
            <Tabs.Panel value="try"><Panel title={s.tryIt}><Stack gap={12} maw={760}><Text size="sm" c="dimmed">{s.testLead}</Text><Trial tenant={tenant} name={name} /></Stack></Panel></Tabs.Panel>
            <Tabs.Panel value="use"><Panel title={s.useIt}><UseIt tenant={tenant} name={name} /></Panel></Tabs.Panel>
            <Tabs.Panel value="card"><Signed card={card.data} /></Tabs.Panel>
          </Tabs>
        </>
      )}
    </Page>
  )
}

/** Sets a card's state and says so, with a way back. */
function useState_(card: Card) {
  const client = useQueryClient()
  const tell = useTell()
  const set = async (state: string) => {
    await ok(api.POST('/api/v1/tenants/{tenant}/cards/{name}/state', { params: { path: { tenant: card.tenant, name: card.name } }, body: { state } as never }))
    await touched(client, 'cards')
  }
  return { set, tell, client }
}

function Actions({ card }: { card: Card }): ReactNode {
  const mayOperate = useMay(card.tenant, 'operate')
  const mayWrite = useMay(card.tenant, 'administer')
  const navigate = useNavigate()
  const { set, tell, client } = useState_(card)
  const [disabling, disable] = useDisclosure()
  const [removing, remove] = useDisclosure()
  const [flagged, setFlagged] = useState<Problem>()
  const fail = (error: unknown) => tell(error instanceof Problem ? error.message : s.pageFailed, { bad: true })
  const publish = async () => {
    try {
      await set('published')
      tell(s.published)
    } catch (error) {
      if (error instanceof Problem && error.code === 'card_flagged') setFlagged(error)
      else fail(error)
    }
  }
  if (!mayOperate) return null
  const isPublished = card.spec.state === 'published'
  return (
    <>
      {isPublished ? <Button variant="default" onClick={disable.open}>{s.disable}</Button>
        : <Button onClick={() => void publish()}>{card.spec.state === 'disabled' ? s.enable : s.publish}</Button>}
      {mayWrite && <Button variant="default" onClick={remove.open}>{s.remove}</Button>}
      <Confirm
        open={disabling} close={disable.close} title={`${s.disable} ${card.name}?`} consequence={s.disableConsequence} action={s.disable}
        confirm={async () => {
          await set('disabled').catch((error: unknown) => { fail(error); throw error })
          tell(s.disabledAgent, { undo: () => void publish() })
        }}
      />
      <Confirm
        open={removing} close={remove.close} title={s.removeAgent} consequence={s.removeConsequence(card.name)} action={s.remove} word={card.name}
        confirm={async () => {
          await ok(api.DELETE('/api/v1/tenants/{tenant}/cards/{name}', { params: { path: { tenant: card.tenant, name: card.name }, header: { 'If-Match': card.revision } } }))
            .catch((error: unknown) => { fail(error); throw error })
          await touched(client, 'cards')
          void navigate({ to: `/t/${card.tenant}/agents` })
        }}
      />
      <Modal opened={flagged !== undefined} onClose={() => setFlagged(undefined)} title={s.flagged} size="lg">
        <Stack gap={12}>
          <Text size="sm">{s.flaggedText}</Text>
          <Alert color="orange" variant="light">{flagged?.fields.map((field, at) => <Text key={at} size="sm"><Said>{flagWords(field)}</Said></Text>)}</Alert>
          <Group justify="flex-end">
            <Button variant="default" onClick={() => setFlagged(undefined)}>{s.cancel}</Button>
            {mayWrite && flagged && (
              <Button onClick={() => void review(card.tenant, card, flagged).then(() => { setFlagged(undefined); tell(s.published); return touched(client, 'cards') }).catch(fail)}>{s.publishReviewed}</Button>
            )}
          </Group>
        </Stack>
      </Modal>
    </>
  )
}

function Overview({ card }: { card: Card }): ReactNode {
  const base = useBase()
  const grants = useQuery(queries.grants(card.tenant))
  const stats = useQuery(queries.stats(card.tenant, 60))
  const health = stats.data?.agents.find((one) => one.card === card.name)
  const mayWrite = useMay(card.tenant, 'administer')
  const ours = (grants.data ?? []).filter((grant) => selects(grant, card))
  return (
    <div className="wide-left">
      <Panel title={s.cardSays}><CardFacts spec={card.spec} /></Panel>
      <Stack gap={16}>
        <Panel title={s.health} actions={<Anchor component={Link} to={`/t/${card.tenant}/mission?card=${card.name}` as string} size="sm">{s.navMission}</Anchor>}>
          {!health ? <Text size="sm" c="dimmed">{s.noCallsYet}</Text> : (
            <dl className="facts">
              <dt>{s.state}</dt><dd><State of={health.state} /></dd>
              <dt>{s.lastHour}</dt><dd className="num">{s.calls(health.count)}, {s.errorsCount(health.errors)}</dd>
              <dt>{s.lastGood}</dt><dd><When at={health.last_ok_at} style="ago" /></dd>
              <dt>{s.lastFailure}</dt><dd><When at={health.last_error_at} style="ago" /></dd>
            </dl>
          )}
        </Panel>
        <Panel title={s.settings} actions={mayWrite && <Anchor component={Link} to={`/t/${card.tenant}/agents/${card.name}` as string} search={{ tab: 'settings' } as never} size="sm">{s.edit}</Anchor>}>
          <dl className="facts">
            <dt>{s.callsAt}</dt><dd className="mono">{`${base}/a2a/${card.tenant}/${card.name}`}</dd>
            <dt>{s.policy}</dt><dd>{card.spec.policy ? <Anchor component={Link} to={`/t/${card.tenant}/policies/${card.spec.policy}` as string} size="sm">{card.spec.policy}</Anchor> : s.policyDefault}</dd>
            <dt>{s.visibility}</dt><dd>{card.spec.visibility ?? 'public'}</dd>
            <dt>{s.trust}</dt><dd>{card.spec.trust_tier ?? '–'}</dd>
            <dt>{s.credentialShort}</dt>
            <dd><CredentialState card={card} mayWrite={mayWrite} /></dd>
            <dt>{s.limits}</dt><dd><UseOf tenant={card.tenant} kind="card" name={card.name} /></dd>
          </dl>
        </Panel>
        <Panel title={s.whoMayCall} actions={<Anchor component={Link} to={`/t/${card.tenant}/explain` as string} search={{ card: card.name } as never} size="sm">{s.explain}</Anchor>}>
          {ours.length === 0 ? <Text size="sm" c="dimmed">{s.noGrants}</Text> : (
            <Stack gap={6}>
              {ours.slice(0, 20).map((grant) => (
                <Group key={grant.name} gap={8} justify="space-between" wrap="nowrap">
                  <div><GranteeLink tenant={card.tenant} grant={grant} />{(grant.spec.effect === 'deny' || grant.spec.mode === 'shadow') && <> <GrantMarks spec={grant.spec} /></>}</div>
                  <Anchor component={Link} to={`/t/${card.tenant}/grants/${grant.name}` as string} size="xs">{(grant.spec.operations ?? []).join(', ')}</Anchor>
                </Group>
              ))}
              {ours.length > 20 && <Text size="xs" c="dimmed">{s.andMore(ours.length - 20)}</Text>}
            </Stack>
          )}
        </Panel>
      </Stack>
    </div>
  )
}

function useHistory(card: Card) {
  return useInfiniteQuery({
    queryKey: ['cards', card.tenant, card.name, 'history'],
    initialPageParam: undefined as number | undefined,
    queryFn: ({ pageParam }) => ok(api.GET('/api/v1/tenants/{tenant}/cards/{name}/history', {
      params: { path: { tenant: card.tenant, name: card.name }, query: { limit: 20, ...(pageParam === undefined ? {} : { before: pageParam }) } },
    })),
    getNextPageParam: (page) => page.next_before ?? undefined,
  })
}

function Revisions({ card }: { card: Card }): ReactNode {
  const history = useHistory(card)
  const client = useQueryClient()
  const tell = useTell()
  const mayWrite = useMay(card.tenant, 'administer')
  const [chosen, setChosen] = useState<number>()
  const [error, setError] = useState<unknown>()
  const versions = history.data?.pages.flatMap((page) => page.items) ?? []
  const at = versions.findIndex((one) => one.version === (chosen ?? versions[0]?.version))
  const shown = versions[at]
  const before = versions[at + 1]
  const restore = async (version: number) => {
    setError(undefined)
    try {
      const path = { tenant: card.tenant, name: card.name }
      const now = await ok(api.GET('/api/v1/tenants/{tenant}/cards/{name}', { params: { path } })) as unknown as Card
      await ok(api.PUT('/api/v1/tenants/{tenant}/cards/{name}/version', { params: { path, header: { 'If-Match': now.revision } }, body: { version } }))
      await touched(client, 'cards')
      tell(s.rolledBack(version))
      setChosen(undefined)
    } catch (refused) {
      setError(refused)
    }
  }
  if (history.isPending) return <Panel flush><Waiting /></Panel>
  return (
    <div className="wide-left" style={{ gridTemplateColumns: 'minmax(0,1fr) minmax(0,2fr)' }}>
      <Panel title={s.revisions} flush actions={<Anchor component={Link} to={`/t/${card.tenant}/changes?kind=card&name=${card.name}` as string} size="xs">{s.whoChanged}</Anchor>}>
        <Wrong error={history.error} />
        {versions.map((one, index) => (
          <button
            key={one.version} type="button" onClick={() => setChosen(one.version)} aria-pressed={one.version === shown?.version}
            style={{ display: 'block', width: '100%', textAlign: 'left', border: 0, borderBottom: '1px solid var(--line)', padding: '9px 14px', cursor: 'pointer', font: 'inherit', color: 'inherit', background: one.version === shown?.version ? 'var(--info-soft)' : 'transparent' }}
          >
            <Group justify="space-between"><Text size="sm" fw={550}>{s.versionIs(one.version)}</Text>{index === 0 && <Mark tone="good">{s.currentVersion}</Mark>}</Group>
            <div style={{ fontSize: 12 }}><When at={one.at} /> {s.changedBy} <Said>{one.changed_by}</Said>{one.note && <> · <Said>{one.note}</Said></>}</div>
          </button>
        ))}
        {history.hasNextPage && <Button m={10} size="compact-sm" variant="default" onClick={() => void history.fetchNextPage()}>{s.more}</Button>}
      </Panel>
      <Panel
        title={s.compareWith}
        actions={mayWrite && shown && at > 0 && <Button size="compact-sm" variant="default" onClick={() => void restore(shown.version)}>{s.rollbackTo(shown.version)}</Button>}
      >
        <Wrong error={error} />
        {shown && before ? <Difference before={before.spec} after={shown.spec} /> : shown ? <Stack gap={8}><Text size="sm" c="dimmed">{s.firstVersion}</Text><Code text={JSON.stringify(shown.spec, null, 2)} label={s.versionIs(shown.version)} /></Stack> : null}
      </Panel>
    </div>
  )
}

function Settings({ card }: { card: Card }): ReactNode {
  const mayWrite = useMay(card.tenant, 'administer')
  return mayWrite ? <CardSettings card={card} /> : <Panel title={s.settings}><Code text={JSON.stringify({ ...writable(card.spec), card: undefined }, null, 2)} label={s.settings} /></Panel>
}

/** The spec as it is stored: what a browser reads has lost digits. */
function Source({ card }: { card: Card }): ReactNode {
  const [base, setBase] = useState(card.revision)
  const stored = useQuery({
    queryKey: ['cards', card.tenant, card.name, 'text', base],
    queryFn: async () => specOf(String(await ok(api.GET('/api/v1/tenants/{tenant}/cards/{name}', { params: { path: { tenant: card.tenant, name: card.name } }, parseAs: 'text' })))),
    staleTime: Infinity,
  })
  if (stored.isPending || stored.error) return <Panel title={s.source}><Wrong error={stored.error} retry={() => void stored.refetch()} />{stored.isPending && <Waiting rows={8} />}</Panel>
  return <SourceEditor key={base} card={card} base={base} original={stored.data} saved={setBase} />
}

function SourceEditor({ card, base, original, saved }: { card: Card; base: number; original: string; saved: (revision: number) => void }): ReactNode {
  const client = useQueryClient()
  const tell = useTell()
  const mayWrite = useMay(card.tenant, 'administer')
  const [text, setText] = useState(original)
  const [problems, setProblems] = useState<FieldProblem[]>([])
  const [error, setError] = useState<unknown>()
  const save = async () => {
    try {
      read(text)
    } catch {
      setError(new Problem(400, 'json', s.notJson))
      return
    }
    try {
      const now = await ok(api.PUT('/api/v1/tenants/{tenant}/cards/{name}', { params: { path: { tenant: card.tenant, name: card.name }, header: { 'If-Match': base } }, body: withMember({}, 'spec', text) as never, bodySerializer: asTyped }))
      await touched(client, 'cards')
      tell(s.savedRevision)
      saved((now as unknown as Card).revision)
    } catch (refused) {
      setError(refused)
      setProblems(refused instanceof Problem ? refused.fields : [])
    }
  }
  return (
    <Panel title={s.source} actions={mayWrite && <Button size="compact-sm" onClick={() => void save()} disabled={text === original}>{s.saveRevision}</Button>}>
      <Stack gap={10}>
        <Text size="sm" c="dimmed">{s.agentEditHint}</Text>
        <Wrong error={error} />
        <JsonEditor value={text} change={setText} label={s.source} problems={problems} readOnly={!mayWrite} height="560px" />
      </Stack>
    </Panel>
  )
}

function Signed({ card }: { card: Card }): ReactNode {
  const signed = useQuery({
    queryKey: ['cards', card.tenant, card.name, 'signed', card.revision],
    queryFn: () => ok(api.POST('/api/v1/tenants/{tenant}/cards/{name}/sign', { params: { path: { tenant: card.tenant, name: card.name } } })),
    retry: false,
  })
  return (
    <Panel title={s.publishedCard}>
      <Wrong error={signed.error} />
      {signed.isPending && <Waiting />}
      {signed.data && (
        <Stack gap={12}>
          {(signed.data as { signatures: { kid?: string | null; view?: string | null }[] }).signatures.map((one, at) => (
            <Group key={at} gap={8}>{one.view ? <Mark tone="good">{s.verifies(one.view)}</Mark> : <Mark tone="bad">{s.verifiesNot}</Mark>}<span className="mono">{one.kid}</span></Group>
          ))}
          <Code text={JSON.stringify(signed.data.card, null, 2)} label={s.publishedCard} />
        </Stack>
      )}
    </Panel>
  )
}

