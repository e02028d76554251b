// The contracts of exported classes, for checks without the binding: `definition` is that of the companion.

package wfstudio

interface StudioWorkflow

interface StudioAgent

interface StudioTool
