/** The version of core that records name. */

/** Kept equal to package.json by a test. */
export const FRAMEWORK_VERSION = "0.1.0";
