// Colours and sizes. One accent; grey for structure; red, amber and green only where they mean something.

import { createTheme, type CSSVariablesResolver, type MantineColorsTuple } from '@mantine/core'
import { s } from './strings'

const accent: MantineColorsTuple = [
  '#eef3ff', '#dbe5fd', '#b5c9f8', '#8babf4', '#6a92f0', '#4f7ce8', '#3a68d8', '#2f5bc7', '#264cab', '#1c3b8a',
]

const slate: MantineColorsTuple = [
  '#d5d9e0', '#b6bcc7', '#98a1b0', '#7a8596', '#4a5362', '#39414d', '#2b313b', '#1e232b', '#171b21', '#101318',
]

export const theme = createTheme({
  primaryColor: 'accent',
  primaryShade: { light: 7, dark: 6 },
  colors: { accent, dark: slate },
  defaultRadius: 'sm',
  fontFamily: 'Inter, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace',
  fontSizes: { xs: '12px', sm: '13px', md: '14px', lg: '16px', xl: '19px' },
  headings: { fontWeight: '600', sizes: { h1: { fontSize: '20px' }, h2: { fontSize: '16px' }, h3: { fontSize: '14px' } } },
  components: {
    Modal: { defaultProps: { closeButtonProps: { 'aria-label': s.close }, centered: true, transitionProps: { duration: 90 } } },
    // A dialog's head is no banner of the page.
    ModalHeader: { defaultProps: { role: 'presentation' } },
    Drawer: { defaultProps: { closeButtonProps: { 'aria-label': s.close } } },
    Button: { defaultProps: { size: 'sm' } },
    TextInput: { defaultProps: { size: 'sm' } },
    PasswordInput: { defaultProps: { size: 'sm', visibilityToggleFocusable: true, visibilityToggleButtonProps: { 'aria-label': s.showPassword } } },
    Select: { defaultProps: { size: 'sm', comboboxProps: { transitionProps: { duration: 0 } } } },
    Tooltip: { defaultProps: { openDelay: 300, withArrow: true } },
  },
})

export const variables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#596273',
    '--mantine-color-placeholder': '#687182',
    '--mantine-color-error': '#b42318',
    '--mantine-color-anchor': '#2450b0',
    '--line': '#e3e6eb',
    '--ground': '#f7f8fa',
    '--panel': '#ffffff',
    '--good': '#146c3e', '--good-soft': '#e3f4ea',
    '--warn': '#8a5a00', '--warn-soft': '#fdf1d6',
    '--bad': '#b42318', '--bad-soft': '#fdeae8',
    '--calm': '#4a5362', '--calm-soft': '#eceff3',
    '--info': '#264cab', '--info-soft': '#e8eefc',
  },
  dark: {
    '--mantine-color-body': '#101318',
    '--mantine-color-text': '#dfe3ea',
    '--mantine-color-dimmed': '#98a1b0',
    '--mantine-color-placeholder': '#8b95a5',
    '--mantine-color-error': '#ff9b90',
    '--mantine-color-anchor': '#8babf4',
    '--line': '#2b313b',
    '--ground': '#101318',
    '--panel': '#171b21',
    '--good': '#6fd09a', '--good-soft': '#14301f',
    '--warn': '#e9bd62', '--warn-soft': '#352a12',
    '--bad': '#ff9b90', '--bad-soft': '#3a1a18',
    '--calm': '#b6bcc7', '--calm-soft': '#242a33',
    '--info': '#a6c0fa', '--info-soft': '#1a2747',
  },
})
