// What a card says of its agent, all of it as text.

import { Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { bindingWord, type CardSpec } from '../api/shapes'
import { s } from '../strings'
import { Mark } from './marks'
import { Outward, Said } from './text'

/** A card that is being written may have anything anywhere: what is no text is shown as JSON. */
function words(value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** The elements of a list, if it is one, that are what the card says of something. */
function list<T extends object>(value: T[] | undefined): T[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'object' && one !== null) : []
}

export function CardFacts({ spec }: { spec: CardSpec }): ReactNode {
  const card = spec.card ?? {}
  const skills = list(card.skills)
  const schemes = Object.keys(card.securitySchemes ?? {})
  return (
    <Stack gap={14}>
      <dl className="facts">
        <dt>{s.readCard}</dt><dd><Said>{words(card.name) ?? '–'}</Said></dd>
        <dt>{s.description}</dt><dd><Said>{words(card.description) ?? '–'}</Said></dd>
        <dt>{s.version}</dt><dd><Said>{words(card.version) ?? '–'}</Said></dd>
        {card.provider && <><dt>{s.provider}</dt><dd><Said>{words(card.provider.organization)}</Said> {card.provider.url && <Outward href={String(card.provider.url)} />}</dd></>}
        {card.documentationUrl && <><dt>{s.documentation}</dt><dd><Outward href={String(card.documentationUrl)} /></dd></>}
        <dt>{s.interfaces}</dt>
        <dd>
          {list(spec.upstream?.interfaces).map((one, at) => (
            <div key={at}><span className="mono"><Said>{words(one.url)}</Said></span> <Text span size="xs" c="dimmed">{bindingWord(one.binding)} <Said>{words(one.version)}</Said></Text></div>
          ))}
        </dd>
        <dt>{s.streaming}</dt><dd>{card.capabilities?.streaming ? s.yes : s.no}</dd>
        <dt>{s.push}</dt><dd>{card.capabilities?.pushNotifications ? s.pushNotMediated : s.no}</dd>
        <dt>{s.security}</dt><dd>{schemes.length > 0 ? <Said>{schemes.join(', ')}</Said> : s.none}</dd>
        <dt>{s.signature}</dt><dd>{Array.isArray(card.signatures) && card.signatures.length > 0 ? s.signed : s.unsigned}</dd>
      </dl>
      {skills.length > 0 && (
        <div>
          <Text size="sm" c="dimmed" mb={6}>{s.skills}</Text>
          <Stack gap={8}>
            {skills.slice(0, 50).map((skill, at) => (
              <div key={at}>
                <Text size="sm" fw={550} component="span"><Said>{words(skill.name) ?? words(skill.id)}</Said></Text>{' '}
                <span className="tags">{(Array.isArray(skill.tags) ? skill.tags : []).slice(0, 12).map((tag, index) => <Mark key={index} tone="calm" plain><Said>{String(tag)}</Said></Mark>)}</span>
                <Text size="sm" c="dimmed"><Said>{words(skill.description)}</Said></Text>
              </div>
            ))}
          </Stack>
        </div>
      )}
    </Stack>
  )
}
