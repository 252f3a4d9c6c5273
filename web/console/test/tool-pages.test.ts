import { describe, expect, it } from "vitest";

import { ApiError } from "../src/api";
import { PAGE_ROWS, rowsAt, ToolPages, toolsPath } from "../src/tool-pages";
import type { ToolPage } from "../src/tool-pages";

const everything = { q: "", source: "", state: "" };
const offsetOf = (path: string) => Number(new URLSearchParams(path.split("?")[1]).get("offset"));

function gateway(total: number) {
  const asked: number[] = [];
  const control = { generation: 1, fails: false };
  const get = async (path: string): Promise<ToolPage> => {
    const offset = offsetOf(path);
    asked.push(offset);
    if (control.fails) throw new ApiError(503, "BUSY", "later");
    const { generation } = control;
    const tools = Array.from({ length: Math.min(PAGE_ROWS, total - offset) }, (_, index) => ({
      name: `g${generation}_${offset + index}`,
      qualified_name: "",
      source: "device/a",
      state: "ready",
    }));
    return { generation, total, tools };
  };
  return { asked, control, get };
}

describe("the rows in a window", () => {
  it("are those that are seen and a few around", () => {
    expect(rowsAt(0, 100, 10, 1_000, 2)).toEqual({ first: 0, end: 12 });
    expect(rowsAt(500, 100, 10, 1_000, 2)).toEqual({ first: 48, end: 62 });
    expect(rowsAt(9_950, 100, 10, 1_000, 2)).toEqual({ first: 993, end: 1_000 });
  });

  it("never lie outside of the list", () => {
    expect(rowsAt(0, 100, 10, 0)).toEqual({ first: 0, end: 0 });
    expect(rowsAt(90_000, 100, 10, 3, 2)).toEqual({ first: 1, end: 3 });
    expect(rowsAt(-50, 100, 10, 3)).toEqual({ first: 0, end: 3 });
  });
});

describe("a long list of tools", () => {
  it("is asked for with what is filtered, escaped", () => {
    expect(toolsPath({ q: "a&b=c", source: "", state: "held" }, 400)).toBe(
      "/v1/admin/tools?view=brief&q=a%26b%3Dc&state=held&offset=400",
    );
  });

  it("is read only where it is looked at, and once", async () => {
    const { asked, get } = gateway(100_000);
    const pages = new ToolPages(everything, get);
    await pages.want(0, 30);
    await pages.want(50_190, 50_210);
    await pages.want(50_195, 50_205);
    expect(asked).toEqual([0, 50_000, 50_200]);
    expect(pages.row(50_201)?.name).toBe("g1_50201");
    expect(pages.row(700)).toBeUndefined();
  });

  it("keeps no more pages than a screen needs", async () => {
    const { get } = gateway(100_000);
    const pages = new ToolPages(everything, get);
    for (let page = 0; page < 40; ++page)
      await pages.want(page * PAGE_ROWS, page * PAGE_ROWS + 10);
    expect(pages.state.value.rows.size).toBe(12);
    expect(pages.row(39 * PAGE_ROWS)?.name).toBe("g1_7800");
  });

  it("mixes no rows of two generations", async () => {
    const { control, get } = gateway(1_000);
    const pages = new ToolPages(everything, get);
    await pages.want(0, 10);
    control.generation = 2;
    await pages.want(195, 205);
    expect(pages.row(0)?.name).toBe("g2_0");
    expect(pages.row(200)?.name).toBe("g2_200");
  });

  it("keeps its rows through a failure and asks again only when told", async () => {
    const { asked, control, get } = gateway(1_000);
    const pages = new ToolPages(everything, get);
    await pages.want(0, 10);
    control.fails = true;
    await pages.want(400, 410);
    await pages.want(600, 610);
    expect(asked).toEqual([0, 400]);
    expect(pages.state.value.error?.code).toBe("BUSY");
    expect(pages.row(0)?.name).toBe("g1_0");
    control.fails = false;
    await pages.retry();
    expect(pages.state.value.error).toBeUndefined();
    expect(pages.row(600)?.name).toBe("g1_600");
  });

  it("does not chase a list that changes with each answer", async () => {
    const { asked, control, get } = gateway(1_000);
    const pages = new ToolPages(everything, (path) => {
      control.generation += 1;
      return get(path);
    });
    await pages.want(195, 205);
    expect(asked.length).toBe(24);
  });

  it("takes no answer of another form", async () => {
    const pages = new ToolPages(everything, async () => ({ tools: [] }) as unknown as ToolPage);
    await pages.want(0, 1);
    expect(pages.state.value.error?.code).toBe("BAD_ANSWER");
  });

  it("takes nothing after its end", async () => {
    const { get } = gateway(10);
    const pages = new ToolPages(everything, get);
    const reading = pages.want(0, 1);
    pages.end();
    await reading;
    expect(pages.state.value.total).toBeUndefined();
  });
});
