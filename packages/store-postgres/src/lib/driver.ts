/** What carries SQL to a Postgres: the one thing in which a server and a database inside the process differ. */

/** A row as a driver gives it. */
export type Row = Readonly<Record<string, unknown>>;

/** A value of a parameter; whatever has another type travels as JSON text. */
export type Parameter = string | number | boolean | null | Uint8Array;

/** The rows of a statement, and how many it changed. */
export interface Answer {
  readonly rows: readonly Row[];
  readonly count: number;
}

/** Runs statements, one after another. */
export interface Connection {
  query(text: string, parameters: readonly Parameter[]): Promise<Answer>;
  /** Several statements without parameters. */
  execute(text: string): Promise<void>;
}

/** A database. Statements outside a transaction may run side by side. */
export interface Driver extends Connection {
  /** Commits what `work` did, or nothing of it where it throws. */
  transaction<T>(work: (connection: Connection) => Promise<T>): Promise<T>;
  /** Ends what this driver opened itself, once nothing runs any more. */
  close(): Promise<void>;
}
