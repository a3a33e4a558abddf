/** Where a library reports what nobody returned: never the console. */

/** A structured log. Fields are JSON-safe and hold no secret. */
export interface Logger {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** Drops everything; the default of libraries. */
export const silentLogger: Logger = Object.freeze({ debug() {}, info() {}, warn() {}, error() {} });

/** The logger, or silence; one that throws is silent too, since a report must never change what it reports. */
export function quietLogger(logger: Logger = silentLogger): Logger {
  if (logger === silentLogger) return logger;
  const guard =
    (level: keyof Logger) =>
    (message: string, fields?: Readonly<Record<string, unknown>>): void => {
      try {
        logger[level](message, fields);
      } catch {
        // There is nowhere left to report it.
      }
    };
  return { debug: guard("debug"), info: guard("info"), warn: guard("warn"), error: guard("error") };
}
