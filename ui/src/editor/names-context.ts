/** Owns handing names of stored things to nodes without passing them through the canvas. */
import { createContext, useContext } from 'react';

export const Names = createContext<(kind: string, id: string) => string>((_kind, id) => id);
export const useNames = (): ((kind: string, id: string) => string) => useContext(Names);
