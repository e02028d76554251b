// The contracts of exported classes, for checks without the binding: `definition` is static, which an interface cannot say.
declare module "@wfstudio/host" {
  export interface StudioWorkflow {}
  export interface StudioAgent {}
  export interface StudioTool {}
}
