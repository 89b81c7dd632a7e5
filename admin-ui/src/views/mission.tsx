// Mission Control: what happens now, how it went lately, who calls whom.

import { Anchor, Button, Group, SegmentedControl, Select, Stack, Text, TextInput } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { lazy, memo, Suspense, useState, type ReactNode } from 'react'
import { useLive, type Feed, type LiveExchange } from '../api/live'
import { queries } from '../api/queries'
import { group, milliseconds, share } from '../parts/figures'
import { Graph } from '../parts/graph'
import { Mark, Outcome, OUTCOME_NAMES, outcomeWord, State } from '../parts/marks'
import { Page, Panel } from '../parts/pieces'
import { ShadowPanel } from '../parts/shadows'
import { Empty, Waiting, Wrong } from '../parts/states'
import { Said } from '../parts/text'
import { duration, When } from '../parts/time'
import { s } from '../strings'

const Charts = lazy(() => import('../parts/charts'))
const SPANS = [['15', '15 min'], ['60', '1 h'], ['360', '6 h'], ['1440', '24 h'], ['10080', '7 d']] as const

interface Filters {
  card?: string
  principal?: string
  outcome?: string
  finding?: string
  span?: string
  paused?: string
}

export function Mission(): ReactNode {
  const { tenant } = useParams({ strict: false }) as { tenant: string }
  const filters = useSearch({ strict: false }) as Filters
  const navigate = useNavigate()
  const set = (part: Partial<Filters>) => void navigate({ to: `/t/${tenant}/mission`, search: { ...filters, ...part } as never, replace: true })
  const minutes = Number(filters.span ?? 60)
  const stats = useQuery({ ...queries.stats(tenant, minutes), refetchInterval: 10_000 })
  const cards = useQuery(queries.cards(tenant))
  const paused = filters.paused === '1'
  const feed = useLive({ tenant, card: filters.card, principal: filters.principal, outcome: filters.outcome, finding: filters.finding }, paused)
  useHotkeys([['space', () => set({ paused: paused ? '' : '1' })]])
  return (
    <Page
      title={s.navMission}
      actions={<SegmentedControl aria-label={s.span} size="xs" data={SPANS.map(([value, label]) => ({ value, label }))} value={filters.span ?? '60'} onChange={(span) => set({ span })} />}
    >
      <Wrong error={stats.error} retry={() => void stats.refetch()} />
      {cards.data?.length === 0 && (
        <Panel><Empty title={s.noAgents} action={<Button component={Link} to={`/t/${tenant}/register` as string}>{s.register}</Button>}>{s.noAgentsText}</Empty></Panel>
      )}
      <Stack gap={16} mt={cards.data?.length === 0 ? 16 : 0}>
        <Tiles tenant={tenant} stats={stats.data} feed={feed} />
        <div className="two">
          <Panel title={s.chartRate} flush>{stats.data ? <Suspense fallback={<Waiting />}><Charts slots={stats.data.slots} what="rate" /></Suspense> : <Waiting />}</Panel>
          <Panel title={s.chartLatency} flush>{stats.data ? <Suspense fallback={<Waiting />}><Charts slots={stats.data.slots} what="latency" /></Suspense> : <Waiting />}</Panel>
        </div>
        <LivePanel tenant={tenant} filters={filters} set={set} feed={feed} paused={paused} />
        <div className="two">
          <Panel title={s.whoCallsWhom}>
            {!stats.data ? <Waiting /> : stats.data.edges.length === 0 ? <Text size="sm" c="dimmed">{s.noCalls}</Text> : (
              <>
                <Graph edges={stats.data.edges} tenant={tenant} />
                <details style={{ marginTop: 10 }}>
                  <summary style={{ fontSize: 13, cursor: 'pointer' }}>{s.asTable}</summary>
                  <div className="scroll-x" tabIndex={0} role="region" aria-label={s.tableOf(s.whoCallsWhom)}>
                    <table className="grid">
                      <thead><tr><th scope="col">{s.principal}</th><th scope="col">{s.agent}</th><th scope="col" className="num">{s.callsHead}</th><th scope="col" className="num">{s.errors}</th><th scope="col" className="num">{s.stopped}</th></tr></thead>
                      <tbody>
                        {stats.data.edges.slice(0, 50).map((edge) => (
                          <tr key={`${edge.principal} ${edge.card}`}>
                            <td><Said>{edge.principal}</Said></td><td><Said>{edge.card}</Said></td><td className="num"><Anchor component={Link} to={`/t/${tenant}/audit` as string} search={{ principal: edge.principal, card: edge.card } as never} size="sm" aria-label={s.callsOf(edge.count, edge.principal, edge.card)}>{edge.count}</Anchor></td><td className="num">{edge.errors}</td><td className="num">{edge.stopped}</td>
                          </tr>
                        ))}
                      </tbody>
                    </table>
                  </div>
                </details>
              </>
            )}
          </Panel>
          <Stack gap={16}>
            <ShadowPanel tenant={tenant} />
            <Panel title={s.agentHealth} flush>
              {!stats.data ? <Waiting rows={3} /> : stats.data.agents.length === 0 ? <Text size="sm" c="dimmed" p={14}>{s.noCalls}</Text> : (
                <div className="scroll-x" tabIndex={0} role="region" aria-label={s.tableOf(s.agentHealth)}>
                  <table className="grid">
                    <thead><tr><th scope="col">{s.agent}</th><th scope="col">{s.state}</th><th scope="col" className="num">{s.errors}</th><th scope="col">{s.lastGood}</th></tr></thead>
                    <tbody>
                      {stats.data.agents.map((agent) => (
                        <tr key={agent.card}>
                          <td><Anchor component={Link} to={`/t/${tenant}/agents/${agent.card}` as string} size="sm"><Said>{agent.card}</Said></Anchor></td>
                          <td><State of={agent.state} /></td><td className="num">{share(agent.errors, agent.count)}</td><td><When at={agent.last_ok_at} style="ago" /></td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                </div>
              )}
            </Panel>
            <Panel title={s.openStreams} flush>
              {(feed.open?.streams ?? []).length === 0 ? <Text size="sm" c="dimmed" p={14}>{s.noStreams}</Text> : (
                <div className="scroll-x" tabIndex={0} role="region" aria-label={s.tableOf(s.openStreams)}>
                  <table className="grid"><tbody>
                    {(feed.open?.streams ?? []).slice(0, 12).map((stream) => (
                      <tr key={stream.correlation_id}><td><Said>{stream.principal}</Said></td><td><Said>{stream.card}</Said></td><td><When at={stream.opened_at} style="ago" /></td></tr>
                    ))}
                  </tbody></table>
                </div>
              )}
            </Panel>
          </Stack>
        </div>
      </Stack>
    </Page>
  )
}

function Tiles({ tenant, stats, feed }: { tenant: string; stats: Awaited<ReturnType<NonNullable<ReturnType<typeof queries.stats>['queryFn']>>> | undefined; feed: Feed }): ReactNode {
  const total = stats ? group(stats.total) : undefined
  const count = stats?.total.count ?? 0
  const blocked = stats?.total.outcomes['blocked'] ?? 0
  const tiles: { label: string; value: string; note?: ReactNode; tone?: string }[] = [
    { label: s.callsHead, value: String(count), note: s.perMinute(stats ? (count / Math.max(1, stats.slots.length * stats.step_seconds)) * 60 : 0) },
    { label: s.latency, value: milliseconds(stats?.total.p50_ms), note: `p95 ${milliseconds(stats?.total.p95_ms)} · p99 ${milliseconds(stats?.total.p99_ms)}` },
    { label: s.outcomeFailed, value: String(total?.failed ?? 0), note: share(total?.failed ?? 0, count), tone: total && total.failed > 0 ? 'bad' : '' },
    { label: s.blocked, value: String(blocked), note: <Link to={`/t/${tenant}/audit?outcome=blocked` as string} style={{ color: 'inherit' }}>{s.seeBlocked}</Link>, tone: blocked > 0 ? 'warn' : '' },
    { label: s.wouldBlock, value: String(stats?.would_block ?? 0), note: stats ? <>{s.since} <When at={stats.would_block_since} style="ago" /></> : '' },
    { label: s.streamsOpen, value: String(feed.open?.count ?? stats?.streams_open ?? 0), note: s.inFlight(feed.open?.in_flight ?? 0) },
  ]
  return (
    <div className="tiles">
      {tiles.map((tile) => (
        <div key={tile.label} className={`tile ${tile.tone ?? ''}`}>
          <div className="label">{tile.label}</div>
          <div className="value">{stats ? tile.value : '–'}</div>
          <div className="note">{tile.note}</div>
        </div>
      ))}
    </div>
  )
}

function LivePanel({ tenant, filters, set, feed, paused }: {
  tenant: string
  filters: Filters
  set: (part: Partial<Filters>) => void
  feed: Feed
  paused: boolean
}): ReactNode {
  const [principal, setPrincipal] = useState(filters.principal ?? '')
  const [finding, setFinding] = useState(filters.finding ?? '')
  const cards = useQuery(queries.cards(tenant))
  const filtered = filters.card || filters.principal || filters.outcome || filters.finding
  return (
    <Panel
      title={<Group gap={10}><span>{s.live}</span><span className={feed.state === 'live' && !paused ? 'pulse' : 'pulse off'} aria-hidden="true" /><Text size="xs" c="dimmed" component="span" role="status">{paused ? s.pausedWith(feed.waiting) : feed.state === 'live' ? s.liveNow : feed.state === 'broken' ? s.liveBroken : s.liveConnecting}</Text></Group>}
      actions={
        <>
          <Select aria-label={s.agent} placeholder={s.anyAgent} size="xs" w={150} clearable searchable data={(cards.data ?? []).map((card) => card.name)} value={filters.card ?? null} onChange={(card) => set({ card: card ?? '' })} />
          <form onSubmit={(event) => { event.preventDefault(); set({ principal: principal.trim() }) }}>
            <TextInput aria-label={s.principal} placeholder={s.anyPrincipal} size="xs" w={140} value={principal} onChange={(event) => setPrincipal(event.currentTarget.value)} onBlur={() => { if (principal.trim() !== (filters.principal ?? '')) set({ principal: principal.trim() }) }} />
          </form>
          <form onSubmit={(event) => { event.preventDefault(); set({ finding: finding.trim() }) }}>
            <TextInput aria-label={s.findings} placeholder={s.anyFinding} size="xs" w={120} value={finding} onChange={(event) => setFinding(event.currentTarget.value)} onBlur={() => { if (finding.trim() !== (filters.finding ?? '')) set({ finding: finding.trim() }) }} />
          </form>
          <Select aria-label={s.outcome} placeholder={s.anyOutcome} size="xs" w={150} clearable data={OUTCOME_NAMES.map((value) => ({ value, label: outcomeWord(value) }))} value={filters.outcome ?? null} onChange={(outcome) => set({ outcome: outcome ?? '' })} />
          <Button size="xs" variant="default" onClick={() => set({ paused: paused ? '' : '1' })}>{paused ? s.resume : s.pause}</Button>
        </>
      }
      flush
    >
      {feed.dropped > 0 && <Text size="xs" c="var(--warn)" px={14} pt={8}>{s.dropped(feed.dropped)}</Text>}
      {feed.items.length === 0 ? (
        <Empty title={s.waitingForCalls}>{filtered ? s.waitingFiltered : s.waitingText}</Empty>
      ) : (
        <div className="scroll-x" tabIndex={0} role="region" aria-label={s.tableOf(s.live)} style={{ maxHeight: 420, overflowY: 'auto' }}>
          <table className="grid">
            <thead><tr><th scope="col">{s.time}</th><th scope="col">{s.principal}</th><th scope="col">{s.agent}</th><th scope="col">{s.operation}</th><th scope="col">{s.outcome}</th><th scope="col" className="num">{s.took}</th><th scope="col">{s.findings}</th></tr></thead>
            <tbody>{feed.items.map((item) => <Row key={item.correlation_id} item={item} tenant={tenant} />)}</tbody>
          </table>
        </div>
      )}
    </Panel>
  )
}

/** Drawn once: an exchange that has ended does not change, however fast others follow. */
const Row = memo(function Row({ item, tenant }: { item: LiveExchange; tenant: string }): ReactNode {
  return (
    <tr>
      <td><Anchor component={Link} to={`/t/${tenant}/exchanges/${item.correlation_id}` as string} size="sm"><When at={item.opened_at} style="clock" /></Anchor></td>
      <td><Said>{item.principal}</Said></td>
      <td><Said>{item.card}</Said></td>
      <td>{item.operation}{item.events > 0 && <Text span size="xs" c="dimmed"> {s.eventsCount(item.events)}</Text>}</td>
      <td><Outcome of={item.outcome} />{item.fault && <Text span size="xs" c="dimmed"> <Said>{item.fault}</Said></Text>}</td>
      <td className="num">{duration(item.took_us)}</td>
      <td>{item.would_block && <Mark tone="warn">{s.wouldBlock}</Mark>} <Text span size="xs" c="dimmed"><Said>{item.findings.slice(0, 3).join(', ')}</Said></Text></td>
    </tr>
  )
})
