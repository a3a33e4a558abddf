/** Whether an IP address is on the public internet, or this very machine. */

import { BlockList, isIP } from "node:net";

/**
 * True where an address may be fetched on behalf of somebody else. Private, shared, loopback, link-local,
 * unique-local, multicast, documentation, benchmark and reserved ranges are not public, nor is any form of IPv6
 * that leads to an IPv4 address (mapped, compatible, NAT64, 6to4, Teredo), except a mapped public one. Ranges:
 * the IANA IPv4 and IPv6 special-purpose address registries (RFC 6890 and its updates). False for anything that
 * is not an address.
 */
export function isPublicAddress(address: string): boolean {
  const bare = bareAddress(address);
  const family = isIP(bare);
  if (family === 4) return !NOT_PUBLIC.check(bare, "ipv4");
  if (family !== 6) return false;
  // A rule for IPv4 also catches the IPv4-mapped form of the address (node:net, blockList.check).
  if (NOT_PUBLIC.check(bare, "ipv6")) return false;
  return GLOBAL_UNICAST.check(bare, "ipv6");
}

/** True for 127.0.0.0/8, ::1 and their IPv4-mapped forms. */
export function isLoopbackAddress(address: string): boolean {
  const bare = bareAddress(address);
  const family = isIP(bare);
  return family !== 0 && LOOPBACK.check(bare, family === 4 ? "ipv4" : "ipv6");
}

/** An address without the brackets and zone that URLs and sockets add. */
function bareAddress(address: string): string {
  return address.replace(/^\[|\]$/g, "").replace(/%.*$/, "");
}

const NOT_PUBLIC = rangesOf(
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24",
  "192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3",
  "2001::/23 2001:db8::/32 2002::/16 3fff::/20",
);
const GLOBAL_UNICAST = rangesOf("2000::/3 ::ffff:0:0/96");
const LOOPBACK = rangesOf("127.0.0.0/8 ::1/128");

function rangesOf(...lists: readonly string[]): BlockList {
  const ranges = new BlockList();
  for (const range of lists.join(" ").split(" ")) {
    const [network = "", bits = ""] = range.split("/");
    ranges.addSubnet(network, Number(bits), network.includes(":") ? "ipv6" : "ipv4");
  }
  return ranges;
}
