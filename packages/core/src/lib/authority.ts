/** The authority gate: may this call run now? It fails closed. */

import { describeThrown } from "./describe-thrown.ts";
import type { Logger } from "./logger.ts";
import type { Grant, Principal } from "./principal.ts";
import type { CallAuthority } from "./run-event.ts";
import { type JsonObject, isPlainObject } from "./json.ts";
import type { Tool } from "./tool.ts";

/** What a policy is asked. */
export interface PolicyRequest {
  readonly tool: Tool;
  readonly args: JsonObject;
  readonly principal: Principal;
  readonly owner: string;
  readonly runId?: string;
}

/** A policy's answer. It can turn an allowed call into ask or deny, never the reverse. */
export type PolicyDecision =
  | { readonly decision: "allow" }
  | { readonly decision: "ask" | "deny"; readonly reason: string };

/** A rule of the application that narrows what contracts allow. A policy that throws denies. */
export interface PolicyPort {
  decide(request: PolicyRequest): PolicyDecision | Promise<PolicyDecision>;
}

/** The gate's answer: how it was decided, and the refusal if there is one. */
export interface AuthorityVerdict {
  readonly authority: CallAuthority;
  readonly refusal?: {
    readonly code: "approval_required" | "not_permitted" | "cancelled";
    readonly message: string;
  };
}

/** Who asks, with what in hand. `nowMs` is the clock's time. */
export interface AuthorityRequest extends PolicyRequest {
  readonly grants: readonly Grant[];
  readonly nowMs: number;
}

/** Decides by the contract's level, then lets the policy narrow it. */
export function decideAuthority(
  request: AuthorityRequest,
  policy: PolicyPort | undefined,
  logger: Logger,
): AuthorityVerdict | Promise<AuthorityVerdict> {
  const verdict = decideByContract(request);
  // A policy may also deny what a person would be asked about.
  if (policy === undefined || verdict.refusal?.code === "not_permitted") return verdict;
  return applyPolicy(verdict, request, { policy, logger });
}

function decideByContract(request: AuthorityRequest): AuthorityVerdict {
  const { level } = request.tool.contract.authority;
  switch (level) {
    case "none":
      return { authority: { level, decision: "not_required" } };
    case "session":
      return decideSession(request);
    case "grant":
      return decideGrant(request);
    case "human":
      return approvalRequired(request, "only a person may allow this exact call");
  }
}

function decideSession({ tool, principal }: AuthorityRequest): AuthorityVerdict {
  const { level } = tool.contract.authority;
  if (principal.kind !== "anonymous" || principal.via === "local")
    return { authority: { level, decision: "granted" } };
  return {
    authority: { level, decision: "denied" },
    refusal: {
      code: "not_permitted",
      message: `"${tool.name}" needs a caller that proved who it is; this one came over the network without a token.`,
    },
  };
}

function decideGrant(request: AuthorityRequest): AuthorityVerdict {
  const { level } = request.tool.contract.authority;
  const scopes = scopesOf(request.tool);
  const valid = validGrants(request.grants, request.nowMs);
  const missing = scopes.filter((scope) => !valid.some((grant) => grant.scopes.includes(scope)));
  if (missing.length > 0)
    return approvalRequired(request, `no grant of this run covers ${missing.join(", ")}`);
  const used = valid.find((grant) => grant.scopes.includes(scopes[0] ?? ""));
  return { authority: { level, decision: "granted", ...(used === undefined ? {} : { grantRef: used.ref }) } };
}

function validGrants(grants: readonly Grant[], nowMs: number): readonly Grant[] {
  return grants.filter(({ expiresAt }) => expiresAt === undefined || Date.parse(expiresAt) > nowMs);
}

/** True where grants that have not expired cover everything the tool asks for. */
export function coversTool(tool: Tool, grants: readonly Grant[], nowMs: number): boolean {
  const valid = validGrants(grants, nowMs);
  return scopesOf(tool).every((scope) => valid.some((grant) => grant.scopes.includes(scope)));
}

/** The scopes a grant has to cover; a tool that names none is its own scope, `tool:<name>`. */
function scopesOf(tool: Tool): readonly string[] {
  const { scopes } = tool.contract.authority;
  return scopes.length > 0 ? scopes : [`tool:${tool.name}`];
}

function approvalRequired({ tool }: AuthorityRequest, why: string): AuthorityVerdict {
  return {
    authority: { level: tool.contract.authority.level, decision: "pending" },
    refusal: { code: "approval_required", message: `"${tool.name}" needs approval: ${why}. It did not run.` },
  };
}

async function applyPolicy(
  verdict: AuthorityVerdict,
  request: AuthorityRequest,
  { policy, logger }: { readonly policy: PolicyPort; readonly logger: Logger },
): Promise<AuthorityVerdict> {
  const answer = await askPolicy(request, policy, logger);
  if (answer.decision === "allow") return verdict;
  if (answer.decision === "ask") return approvalRequired(request, answer.reason);
  return {
    authority: { level: verdict.authority.level, decision: "denied" },
    refusal: {
      code: "not_permitted",
      message: `"${request.tool.name}" was refused by policy: ${answer.reason}`,
    },
  };
}

const DECISIONS: readonly string[] = ["allow", "ask", "deny"];

async function askPolicy(
  request: PolicyRequest,
  policy: PolicyPort,
  logger: Logger,
): Promise<PolicyDecision> {
  try {
    const answer: unknown = await policy.decide(request);
    if (isPlainObject(answer) && DECISIONS.includes(String(answer["decision"])))
      return answer as PolicyDecision; // Proof: by its decision
    return { decision: "deny", reason: "the policy gave no decision." };
  } catch (cause) {
    logger.error("The policy threw; the call is denied.", {
      tool: request.tool.name,
      cause: describeThrown(cause),
    });
    return { decision: "deny", reason: "the policy could not decide." };
  }
}
