python3 - <<'P'
import pathlib, tomllib
for p in pathlib.Path("packages").glob("*/pyproject.toml"):
    d = tomllib.loads(p.read_text())["project"]; o = pathlib.Path("/tmp/meta") / f"{d['name'].replace('-','_')}-0.1.0.dist-info"; o.mkdir(parents=True, exist_ok=True)
    (o / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {d['name']}\nVersion: 0.1.0\n")
    (o / "entry_points.txt").write_text("".join(f"[{g}]\n" + "".join(f"{k} = {v}\n" for k, v in e.items()) for g, e in d.get("entry-points", {}).items()))
P
export PYTHONPATH=/tmp/meta:$(echo packages/*/src | tr ' ' ':') TILE_CACHE_DIR=/tmp/tilecache PYTHONUNBUFFERED=1
