// What a card says of its agent, all of it as text.

import { Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { bindingWord, type CardSpec } from '../api/shapes'
import { s } from '../strings'
import { Mark } from './marks'
import { Outward, Said } from './text'

export function CardFacts({ spec }: { spec: CardSpec }): ReactNode {
  const card = spec.card ?? {}
  const schemes = Object.keys(card.securitySchemes ?? {})
  return (
    <Stack gap={14}>
      <dl className="facts">
        <dt>{s.readCard}</dt><dd><Said>{card.name ?? '–'}</Said></dd>
        <dt>{s.description}</dt><dd><Said>{card.description ?? '–'}</Said></dd>
        <dt>{s.version}</dt><dd><Said>{card.version ?? '–'}</Said></dd>
        {card.provider && <><dt>{s.provider}</dt><dd><Said>{card.provider.organization}</Said> {card.provider.url && <Outward href={String(card.provider.url)} />}</dd></>}
        {card.documentationUrl && <><dt>{s.documentation}</dt><dd><Outward href={String(card.documentationUrl)} /></dd></>}
        <dt>{s.interfaces}</dt>
        <dd>
          {(spec.upstream?.interfaces ?? []).map((one, at) => (
            <div key={at}><span className="mono"><Said>{one.url}</Said></span> <Text span size="xs" c="dimmed">{bindingWord(one.binding)} <Said>{one.version}</Said></Text></div>
          ))}
        </dd>
        <dt>{s.streaming}</dt><dd>{card.capabilities?.streaming ? s.yes : s.no}</dd>
        <dt>{s.push}</dt><dd>{card.capabilities?.pushNotifications ? s.pushNotMediated : s.no}</dd>
        <dt>{s.security}</dt><dd>{schemes.length > 0 ? <Said>{schemes.join(', ')}</Said> : s.none}</dd>
        <dt>{s.signature}</dt><dd>{Array.isArray(card.signatures) && card.signatures.length > 0 ? s.signed : s.unsigned}</dd>
      </dl>
      {(card.skills ?? []).length > 0 && (
        <div>
          <Text size="sm" c="dimmed" mb={6}>{s.skills}</Text>
          <Stack gap={8}>
            {(card.skills ?? []).slice(0, 50).map((skill, at) => (
              <div key={at}>
                <Text size="sm" fw={550} component="span"><Said>{skill.name ?? skill.id}</Said></Text>{' '}
                {(skill.tags ?? []).slice(0, 12).map((tag, index) => <Mark key={index} tone="calm" plain><Said>{String(tag)}</Said></Mark>)}
                <Text size="sm" c="dimmed"><Said>{skill.description}</Said></Text>
              </div>
            ))}
          </Stack>
        </div>
      )}
    </Stack>
  )
}
