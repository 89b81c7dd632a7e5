// What a view shows when there is nothing, not yet something, or something wrong.

import { Alert, Button, Group, List, Skeleton, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { Problem } from '../api/client'
import { s } from '../strings'
import { Said } from './text'

export function Waiting({ rows = 5 }: { rows?: number }): ReactNode {
  return (
    <Stack gap={10} p={14} aria-busy="true" aria-label={s.loading} role="status">
      {Array.from({ length: rows }, (_, at) => <Skeleton key={at} height={14} width={`${90 - ((at * 17) % 40)}%`} />)}
    </Stack>
  )
}

/** Nothing here yet, and what that would be. */
export function Empty({ title, children, action }: { title: string; children: ReactNode; action?: ReactNode }): ReactNode {
  return (
    <Stack align="center" gap={8} py={44} px={20} ta="center">
      <Title order={2}>{title}</Title>
      <Text size="sm" c="dimmed" maw={460}>{children}</Text>
      {action && <Group mt={6}>{action}</Group>}
    </Stack>
  )
}

/** What went wrong, in the API's words, and what to do. */
export function Wrong({ error, retry }: { error: unknown; retry?: () => void }): ReactNode {
  if (!error) return null
  const problem = error instanceof Problem ? error : new Problem(0, 'page', s.pageFailed)
  return (
    <Alert color="red" variant="light" role="alert" title={<span style={{ color: 'var(--bad)' }}>{title(problem)}</span>} my={8}>
      <Text size="sm">{advice(problem)}</Text>
      {problem.fields.length > 0 && (
        <List size="sm" mt={6}>
          {problem.fields.slice(0, 12).map((field, at) => (
            <List.Item key={at}><span className="mono">{field.path}</span> <Said>{field.problem}</Said></List.Item>
          ))}
        </List>
      )}
      {problem.correlation && <Text size="xs" c="dimmed" mt={6}>{s.correlation} <span className="mono">{problem.correlation}</span></Text>}
      {retry && <Button size="compact-sm" variant="default" mt={8} onClick={retry}>{s.tryAgain}</Button>}
    </Alert>
  )
}

function title(problem: Problem): string {
  if (problem.status === 0) return s.unreachable
  if (problem.code === 'store_read_only') return s.storeReadOnly
  if (problem.code === 'store_full') return s.storeFull
  if (problem.status === 503) return s.storeAway
  if (problem.status >= 500) return s.gatewayFailed
  if (problem.status === 403) return s.notAllowed
  if (problem.status === 404) return s.notFound
  if (problem.status === 412) return s.changedMeanwhile
  return problem.message
}

function advice(problem: Problem): string {
  if (problem.status === 0) return s.unreachableAdvice
  if (problem.code === 'store_read_only') return s.storeReadOnlyAdvice
  if (problem.code === 'store_full') return s.storeFullAdvice
  if (problem.status === 503) return s.storeAwayAdvice
  if (problem.status >= 500) return s.gatewayFailedAdvice
  if (problem.status === 412) return s.changedMeanwhileAdvice
  if (problem.status === 403 || problem.status === 404) return problem.message
  return problem.fields.length > 0 ? '' : s.tryDifferently
}
