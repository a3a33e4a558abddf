/** Units of measure, and what they are in the base unit of their kind. */

/** A unit: its kind, and the factor (and offset) to the base unit. */
interface Unit {
  readonly kind: string;
  readonly factor: number;
  readonly offset: number;
}

/** Kind, then `names = factor`. Sources: SI brochure (9th edition) and NIST Special Publication 811, appendix B. */
const TABLE: readonly (readonly [kind: string, names: string, factor: number, offset?: number])[] = [
  ["length", "m metre metres meter meters", 1],
  ["length", "km kilometre kilometres kilometer kilometers", 1000],
  ["length", "cm centimetre centimetres centimeter centimeters", 0.01],
  ["length", "mm millimetre millimetres millimeter millimeters", 0.001],
  ["length", "mi mile miles", 1609.344],
  ["length", "yd yard yards", 0.9144],
  ["length", "ft foot feet", 0.3048],
  ["length", "in inch inches", 0.0254],
  ["length", "nmi", 1852],
  ["mass", "kg kilogram kilograms kilo kilos", 1],
  ["mass", "g gram grams", 0.001],
  ["mass", "mg milligram milligrams", 1e-6],
  ["mass", "t tonne tonnes", 1000],
  ["mass", "lb lbs pound pounds", 0.45359237],
  ["mass", "oz ounce ounces", 0.028349523125],
  ["mass", "st stone", 6.35029318],
  ["volume", "l litre litres liter liters", 1],
  ["volume", "ml millilitre millilitres milliliter milliliters", 0.001],
  ["volume", "gal gallon gallons", 3.785411784],
  ["volume", "qt quart quarts", 0.946352946],
  ["volume", "pt pint pints", 0.473176473],
  ["volume", "cup cups", 0.2365882365],
  ["volume", "tbsp tablespoon tablespoons", 0.01478676478125],
  ["volume", "tsp teaspoon teaspoons", 0.00492892159375],
  ["time", "s sec second seconds", 1],
  ["time", "ms millisecond milliseconds", 0.001],
  ["time", "min minute minutes", 60],
  ["time", "h hr hour hours", 3600],
  ["time", "d day days", 86_400],
  ["time", "week weeks", 604_800],
  ["temperature", "c celsius °c", 1, 0],
  ["temperature", "f fahrenheit °f", 5 / 9, -160 / 9],
  ["temperature", "k kelvin", 1, -273.15],
  ["speed", "m/s", 1],
  ["speed", "km/h kmh kph", 1 / 3.6],
  ["speed", "mph", 0.44704],
  ["speed", "kn knot knots", 1852 / 3600],
  ["area", "m2 m²", 1],
  ["area", "km2 km²", 1e6],
  ["area", "ha hectare hectares", 10_000],
  ["area", "acre acres", 4046.8564224],
  ["area", "ft2 ft²", 0.09290304],
  ["data", "b byte bytes", 1],
  ["data", "kb", 1000],
  ["data", "mb", 1e6],
  ["data", "gb", 1e9],
  ["data", "tb", 1e12],
  ["data", "kib", 1024],
  ["data", "mib", 1024 ** 2],
  ["data", "gib", 1024 ** 3],
  ["energy", "j joule joules", 1],
  ["energy", "kj", 1000],
  ["energy", "kcal", 4184],
  ["energy", "kwh", 3.6e6],
];

function findUnit(name: string): Unit | undefined {
  const wanted = name.trim().toLowerCase();
  const row = TABLE.find(([, names]) => names.split(" ").includes(wanted));
  return row === undefined ? undefined : { kind: row[0], factor: row[2], offset: row[3] ?? 0 };
}

/** A conversion, or why it cannot be made. */
export type Conversion =
  | { readonly ok: true; readonly value: number }
  | { readonly ok: false; readonly problem: string };

/** `value` of the unit `from`, in the unit `to`. */
export function convert(value: number, from: string, to: string): Conversion {
  const [source, target] = [findUnit(from), findUnit(to)];
  if (source === undefined) return { ok: false, problem: `"${from}" is no unit I know` };
  if (target === undefined) return { ok: false, problem: `"${to}" is no unit I know` };
  if (source.kind !== target.kind)
    return { ok: false, problem: `"${from}" is a ${source.kind} and "${to}" a ${target.kind}` };
  return { ok: true, value: (value * source.factor + source.offset - target.offset) / target.factor };
}
