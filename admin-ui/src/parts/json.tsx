// The JSON editor where it is first needed, and differences between two documents.

import { lazy, Suspense, type ComponentProps, type ReactNode } from 'react'
import { s } from '../strings'
import { diff, folded } from './diff'
import { Waiting } from './states'

const Editor = lazy(() => import('./editor'))

export function JsonEditor(props: ComponentProps<typeof Editor>): ReactNode {
  return (
    <Suspense fallback={<Waiting rows={8} />}>
      <Editor {...props} />
    </Suspense>
  )
}

export function Difference({ before, after }: { before: unknown; after: unknown }): ReactNode {
  const lines = folded(diff(JSON.stringify(before, null, 2), JSON.stringify(after, null, 2)))
  if (lines.length === 0) return <p className="muted">{s.noDifference}</p>
  const sign = { same: '  ', add: '+ ', del: '- ', gap: '' }
  return (
    <pre className="diff" tabIndex={0} aria-label={s.difference}>
      {lines.map((line, at) => (
        <div key={at} className={line.kind}>{line.kind === 'gap' ? s.linesUnchanged(line.text) : sign[line.kind] + line.text}</div>
      ))}
    </pre>
  )
}
