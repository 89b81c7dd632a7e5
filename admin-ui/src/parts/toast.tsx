// Short words about what was just done; with an undo where there is one. Read out by screen readers.

import { Button, CloseButton } from '@mantine/core'
import { createContext, useCallback, useContext, useMemo, useState, type ReactNode } from 'react'
import { s } from '../strings'

interface Toast {
  id: number
  text: string
  bad: boolean
  undo: (() => void) | undefined
}

type Tell = (text: string, more?: { bad?: boolean; undo?: () => void }) => void

const Telling = createContext<Tell>(() => undefined)

export function useTell(): Tell {
  return useContext(Telling)
}

let next = 0

export function Toasts({ children }: { children: ReactNode }): ReactNode {
  const [toasts, setToasts] = useState<Toast[]>([])
  const drop = useCallback((id: number) => setToasts((all) => all.filter((one) => one.id !== id)), [])
  const tell = useCallback<Tell>((text, more) => {
    const id = next++
    setToasts((all) => [...all.slice(-3), { id, text, bad: more?.bad ?? false, undo: more?.undo }])
    setTimeout(() => drop(id), more?.undo || more?.bad ? 10_000 : 5_000)
  }, [drop])
  const value = useMemo(() => tell, [tell])
  return (
    <Telling.Provider value={value}>
      {children}
      <div className="toasts" role="status" aria-live="polite">
        {toasts.map((toast) => (
          <div key={toast.id} className={toast.bad ? 'toast bad' : 'toast'}>
            <span>{toast.text}</span>
            {toast.undo && (
              <Button size="compact-xs" variant="subtle" onClick={() => { toast.undo?.(); drop(toast.id) }}>{s.undo}</Button>
            )}
            <CloseButton size="sm" aria-label={s.dismiss} onClick={() => drop(toast.id)} />
          </div>
        ))}
      </div>
    </Telling.Provider>
  )
}
