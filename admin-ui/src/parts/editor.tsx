// An editor of JSON, or of Cedar, with what is wrong at its place. Loaded only where it is used: it is larger than the rest of a view.

import { json, jsonParseLinter } from '@codemirror/lang-json'
import { linter, lintGutter, type Diagnostic } from '@codemirror/lint'
import { EditorView } from '@codemirror/view'
import { useComputedColorScheme } from '@mantine/core'
import CodeMirror from '@uiw/react-codemirror'
import { useMemo, type ReactNode } from 'react'
import type { FieldProblem } from '../api/client'
import { agentCard } from './complete'
import { placeOf, placeOfLine } from './place'

export default function Editor({ value, change, label, problems, readOnly = false, height = '420px', of = 'any' }: {
  value: string
  change: (text: string) => void
  label: string
  problems: FieldProblem[]
  readOnly?: boolean
  height?: string
  /** What is written: agent cards are completed and checked by their schema; Cedar is plain text here. */
  of?: 'any' | 'card' | 'cedar'
}): ReactNode {
  const scheme = useComputedColorScheme()
  const extensions = useMemo(() => {
    const said = linter((view): Diagnostic[] => {
      const text = view.state.doc.toString()
      return problems.map((problem) => {
        const { from, to } = of === 'cedar' ? placeOfLine(text, problem.problem) : placeOf(text, problem.path)
        return { from, to, severity: 'error', message: problem.problem }
      })
    })
    return [
      ...(of === 'card' ? [agentCard()] : []), ...(of === 'cedar' ? [] : [json(), linter(jsonParseLinter())]), said, lintGutter(), EditorView.lineWrapping,
      EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
    ]
  }, [problems, label, of])
  return (
    <CodeMirror
      value={value} onChange={change} extensions={extensions} theme={scheme} readOnly={readOnly} height={height}
      basicSetup={{ foldGutter: true, highlightActiveLine: false, autocompletion: of === 'any' }} indentWithTab={false}
    />
  )
}
