// An agent card written or pasted as JSON: completed and checked as it is written, with what it says beside it.

import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { useMemo, type ReactNode } from 'react'
import { api, asTyped, ok, type FieldProblem } from '../api/client'
import type { AgentCard } from '../api/shapes'
import { s } from '../strings'
import { CardFacts } from './cardfacts'
import { withMember } from './exact'
import { JsonEditor } from './json'
import { Mark } from './marks'
import { Panel } from './pieces'
import { addressesOf, EXAMPLE_CARD } from './schema'

/** What a text says, if it is a JSON object. */
export function cardOf(text: string): Record<string, unknown> | undefined {
  try {
    const read: unknown = JSON.parse(text)
    return typeof read === 'object' && read !== null && !Array.isArray(read) ? (read as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** Problems that the API has with a card, by their place in the card alone. */
export function ofCard(problems: FieldProblem[]): FieldProblem[] {
  return problems.flatMap((one) => (one.path === 'spec.card' || one.path.startsWith('spec.card.') ? [{ ...one, path: one.path.slice('spec.card.'.length) }] : []))
}

export function JsonStep({ text, setText, problems, next }: { text: string; setText: (text: string) => void; problems: FieldProblem[]; next: () => void }): ReactNode {
  const card = useMemo(() => cardOf(text), [text])
  const addresses = useMemo(() => addressesOf(card), [card])
  return (
    <div className="wide-left">
      <Panel title={s.cardJson} actions={text.trim() === '' && <Button size="compact-sm" variant="default" onClick={() => setText(JSON.stringify(EXAMPLE_CARD, null, 2))}>{s.cardTemplate}</Button>}>
        <Stack gap={12}>
          <Text size="sm" c="dimmed">{s.cardJsonText}</Text>
          {problems.length > 0 && (
            <Alert color="red" variant="light" role="alert" title={<span style={{ color: 'var(--bad)' }}>{s.cardProblems(problems.length)}</span>}>
              {problems.slice(0, 12).map((one, at) => <Text key={at} size="sm"><span className="mono">{one.path}</span> {one.problem}</Text>)}
            </Alert>
          )}
          <JsonEditor value={text} change={setText} label={s.cardJson} problems={problems} height="460px" of="card" />
          <Group><Button onClick={next} disabled={!card || addresses.length === 0}>{s.next}</Button>{text.trim() !== '' && !card && <Text size="sm" c="dimmed">{s.notJson}</Text>}</Group>
        </Stack>
      </Panel>
      <Stack gap={16}>
        <Panel title={s.interfacesFound}>
          {addresses.length === 0 ? <Text size="sm" c="dimmed">{s.interfacesNone}</Text> : <Stack gap={8}>{addresses.map((one, at) => <div key={at}><Mark tone="calm" plain>{one.binding} {one.version}</Mark><div className="mono">{one.url}</div></div>)}</Stack>}
        </Panel>
        {card && <Panel title={s.cardSays}><CardFacts spec={{ card: card as AgentCard, upstream: { interfaces: addresses } }} /></Panel>}
      </Stack>
    </div>
  )
}

/** What makes an agent of a card: the card's text goes out as it was typed, for a browser's reader changes long numbers. */
export function bodyOf(name: string, card: string, settings: Record<string, unknown>, interfaces: unknown[]): string {
  const upstream = { ...(settings['upstream'] as object | undefined), interfaces }
  return withMember({ name }, 'spec', withMember({ ...settings, upstream, state: 'approved' }, 'card', card))
}

/** Makes an agent of a card. The card is checked as if it were to be published, so that all mistakes are named now; then it is a draft. */
export async function createFromJson(tenant: string, name: string, card: string, settings: Record<string, unknown>): Promise<void> {
  const body = bodyOf(name, card, settings, addressesOf(cardOf(card)))
  await ok(api.POST('/api/v1/tenants/{tenant}/cards', { params: { path: { tenant } }, body: body as never, bodySerializer: asTyped }))
  await ok(api.POST('/api/v1/tenants/{tenant}/cards/{name}/state', { params: { path: { tenant, name } }, body: { state: 'draft' } as never }))
}
