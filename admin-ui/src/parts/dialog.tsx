// A dialog that is there for as long as it is drawn. Whoever had the focus before has it again afterwards.

import { Modal, type ModalProps } from '@mantine/core'
import { useEffect, useRef, type ReactNode } from 'react'

export function Dialog({ title, close, size = 'md', children }: {
  title: ReactNode
  close: () => void
  size?: NonNullable<ModalProps['size']>
  children: ReactNode
}): ReactNode {
  const before = useRef(document.activeElement)
  useEffect(() => {
    const opener = before.current
    return () => {
      // A moment later: by then the dialog is gone, and what is done with its end may have put the focus elsewhere.
      setTimeout(() => {
        const here = document.activeElement
        if (opener instanceof HTMLElement && (here === null || here === document.body)) opener.focus({ preventScroll: true })
      }, 10)
    }
  }, [])
  return <Modal opened onClose={close} title={title} size={size}>{children}</Modal>
}
