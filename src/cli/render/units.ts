// The words of the other layers, where the renderers look for theirs.
export * from "../../base/units.ts";
