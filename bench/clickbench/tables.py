"""A table of the shape of ClickBench's `hits`: its 105 columns by name and type, with values of our own.

Values are functions of the seed and the number of the batch. They are as skewed as page views are: one site has most
hits, URLs and phrases are Zipf-distributed, most columns nearly always have one value. Every query of texts.py gives
rows from LEAST_ROWS rows on.
"""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from engines import files

SEED = 43
BATCH = 1 << 17
LEAST_ROWS = 200_000
MILLION = 1_000_000  # rows at scale 1; the published table has 100 million
SITE = 62  # the value of CounterID, and the hashes, that queries ask for
SITE_URL_HASH, SITE_REFERER_HASH = 2868770270353813622, 3594120000172545465
USER = 435090932899640449
FIRST_SECOND = 1_372_636_800  # 2013-07-01
SECONDS = 31 * 86_400

# Columns by type; those that `drawn` does not name are like the published ones: nearly always one value.
SCHEMA = {
    "WatchID": "int64", "JavaEnable": "int16", "Title": "string", "GoodEvent": "int16", "EventTime": "timestamp",
    "EventDate": "date", "CounterID": "int32", "ClientIP": "int32", "RegionID": "int32", "UserID": "int64",
    "CounterClass": "int16", "OS": "int16", "UserAgent": "int16", "URL": "string", "Referer": "string",
    "IsRefresh": "int16", "RefererCategoryID": "int16", "RefererRegionID": "int32", "URLCategoryID": "int16",
    "URLRegionID": "int32", "ResolutionWidth": "int16", "ResolutionHeight": "int16", "ResolutionDepth": "int16",
    "FlashMajor": "int16", "FlashMinor": "int16", "FlashMinor2": "string", "NetMajor": "int16", "NetMinor": "int16",
    "UserAgentMajor": "int16", "UserAgentMinor": "string", "CookieEnable": "int16", "JavascriptEnable": "int16",
    "IsMobile": "int16", "MobilePhone": "int16", "MobilePhoneModel": "string", "Params": "string",
    "IPNetworkID": "int32", "TraficSourceID": "int16", "SearchEngineID": "int16", "SearchPhrase": "string",
    "AdvEngineID": "int16", "IsArtifical": "int16", "WindowClientWidth": "int16", "WindowClientHeight": "int16",
    "ClientTimeZone": "int16", "ClientEventTime": "timestamp", "SilverlightVersion1": "int16",
    "SilverlightVersion2": "int16", "SilverlightVersion3": "int32", "SilverlightVersion4": "int16",
    "PageCharset": "string", "CodeVersion": "int32", "IsLink": "int16", "IsDownload": "int16", "IsNotBounce": "int16",
    "FUniqID": "int64", "OriginalURL": "string", "HID": "int32", "IsOldCounter": "int16", "IsEvent": "int16",
    "IsParameter": "int16", "DontCountHits": "int16", "WithHash": "int16", "HitColor": "string",
    "LocalEventTime": "timestamp", "Age": "int16", "Sex": "int16", "Income": "int16", "Interests": "int16",
    "Robotness": "int16", "RemoteIP": "int32", "WindowName": "int32", "OpenerName": "int32", "HistoryLength": "int16",
    "BrowserLanguage": "string", "BrowserCountry": "string", "SocialNetwork": "string", "SocialAction": "string",
    "HTTPError": "int16", "SendTiming": "int32", "DNSTiming": "int32", "ConnectTiming": "int32",
    "ResponseStartTiming": "int32", "ResponseEndTiming": "int32", "FetchTiming": "int32",
    "SocialSourceNetworkID": "int16", "SocialSourcePage": "string", "ParamPrice": "int64", "ParamOrderID": "string",
    "ParamCurrency": "string", "ParamCurrencyID": "int16", "OpenstatServiceName": "string",
    "OpenstatCampaignID": "string", "OpenstatAdID": "string", "OpenstatSourceID": "string", "UTMSource": "string",
    "UTMMedium": "string", "UTMCampaign": "string", "UTMContent": "string", "UTMTerm": "string", "FromTag": "string",
    "HasGCLID": "int16", "RefererHash": "int64", "URLHash": "int64", "CLID": "int32",
}  # fmt: skip
TYPES = {"int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64(), "string": pa.string(),
         "timestamp": pa.timestamp("us"), "date": pa.date32()}  # fmt: skip
NAMES = list(SCHEMA)
Column = np.ndarray | pa.Array

HOSTS = ["yandex.ru", "www.google.com", "news.example.ru", "shop.example.com", "mail.example.ru", "auto.example.org"]
SECTIONS = ["", "search", "catalog", "google", "games", "video", "фото", "forum"]
WORDS = ["купить", "weather", "карта", "music", "фильм", "Google", "news", "цена", "photo", "игры", "online", "москва"]
MODELS = ["", "iPhone", "iPad", "GT-I9300", "Nokia N8", "HTC One", "Lumia 920", "Xperia Z"]


@functools.cache
def pages() -> pa.Array:
    """URLs by number; the first one is a page of the site that queries look at, the second one is empty."""
    random = np.random.default_rng([SEED, 0])
    host, section = random.integers(0, len(HOSTS), 40_000), random.integers(0, len(SECTIONS), 40_000)
    places = enumerate(zip(host, section))
    texts = [f"http{'s' * (i % 3 == 0)}://{HOSTS[h]}/{SECTIONS[s]}/{i * 7919 % 100_003}" for i, (h, s) in places]
    return pa.array(["http://example.ru/index.html", "", *texts])


@functools.cache
def referers() -> pa.Array:
    """Referers by number: most are of one host."""
    hosts = (HOSTS[0] if i % 10 < 7 else HOSTS[i % len(HOSTS)] for i in range(20_000))
    return pa.array(["", *(f"http://www.{host}/{SECTIONS[i % 8]}/{i}" for i, host in enumerate(hosts))])


@functools.cache
def titles() -> pa.Array:
    return pa.array(["", *(f"{WORDS[i % 12]} {WORDS[i // 12 % 12]} — {i}" for i in range(15_000))])


@functools.cache
def phrases() -> pa.Array:
    return pa.array(["", *(f"{WORDS[i % 12]} {WORDS[i // 12 % 12]} {i // 144}".strip() for i in range(10_000))])


class Batch:
    """The columns of rows from number `first` on."""

    def __init__(self, first: int, rows: int) -> None:
        self.random = np.random.default_rng([SEED, 1, first])
        self.first, self.rows = first, rows

    def numbers(self, limit: int, least: int = 0) -> np.ndarray:
        """least … limit - 1, each equally often."""
        return self.random.integers(least, limit, self.rows)

    def rare(self, share: float, limit: int) -> np.ndarray:
        """1 … limit - 1 in that share of the rows, else 0."""
        return np.where(self.random.random(self.rows) < share, self.numbers(limit, 1), 0)

    def skewed(self, limit: int) -> np.ndarray:
        """0 … limit - 1, smaller ones more often: about as Zipf's law with exponent 1 has it."""
        return np.minimum((limit + 1.0) ** self.random.random(self.rows) - 1, limit - 1).astype(np.int64)

    def of(self, words: list[str], share: float = 1.0) -> pa.Array:
        """A word in that share of the rows, else an empty text."""
        return pa.array(["", *words]).take(pa.array(self.rare(share, len(words) + 1)))

    def drawn(self) -> dict[str, Column]:
        """The columns that queries read, and a few that are like none of the others."""
        is_site = self.random.random(self.rows) < 0.65
        user = self.skewed(self.rows // 4 + 10)
        second = np.sort(FIRST_SECOND + self.numbers(SECONDS))
        page = np.where(is_site & (self.random.random(self.rows) < 0.3), 0, 1 + self.skewed(40_000))
        referer = np.where(self.random.random(self.rows) < 0.08, 0, 1 + self.skewed(20_000))
        phrase = np.where(self.random.random(self.rows) < 0.6, 0, 1 + self.skewed(10_000))
        model = self.rare(0.2, len(MODELS))
        engine = np.where(phrase > 0, self.numbers(6, 1), 0)
        return {
            "WatchID": np.arange(self.first, self.first + self.rows) // 2 * 2_654_435_761 + (1 << 62),
            "Title": titles().take(pa.array(self.skewed(15_001))),
            "EventTime": pa.array(second * 1_000_000).cast(TYPES["timestamp"]),
            "EventDate": pa.array((second // 86_400).astype(np.int32)).cast(TYPES["date"]),
            "CounterID": np.where(is_site, SITE, 100 + self.skewed(3_000)),
            "ClientIP": self.skewed(50_000) * 40_503 - (1 << 30),
            "RegionID": self.skewed(5_000),
            "UserID": np.where(user == 5, USER, user * 7_919_000_000_033 + 17),
            "URL": pages().take(pa.array(page)),
            "Referer": referers().take(pa.array(referer)),
            "IsRefresh": self.rare(0.15, 2),
            "ResolutionWidth": self.numbers(2_000, 300),
            "MobilePhone": model * 7 % 90,
            "MobilePhoneModel": pa.array(MODELS).take(pa.array(model)),
            "TraficSourceID": self.numbers(9, -1),
            "SearchEngineID": engine,
            "SearchPhrase": phrases().take(pa.array(phrase)),
            "AdvEngineID": self.rare(0.05, 60),
            "WindowClientWidth": self.numbers(1_900, 200),
            "WindowClientHeight": self.numbers(1_100, 100),
            "IsLink": self.rare(0.2, 2),
            "IsDownload": self.rare(0.05, 2),
            "DontCountHits": self.rare(0.1, 2),
            "RefererHash": np.where(referer % 3 == 1, SITE_REFERER_HASH, referer * 6_364_136_223_847 - 11),
            "URLHash": np.where(page == 0, SITE_URL_HASH, page * 1_442_695_040_889 - 5),
        }

    def others(self, drawn: dict[str, Column]) -> dict[str, Column]:
        """The columns that only `select *` reads."""
        columns: dict[str, Column] = {"ClientEventTime": drawn["EventTime"], "LocalEventTime": drawn["EventTime"]}
        columns |= {"OriginalURL": self.of(["http://example.ru/a?b=c"], 0.05), "HitColor": self.of(["D", "E", "T"])}
        columns |= {"BrowserLanguage": self.of(["ru", "en", "uk"]), "BrowserCountry": self.of(["RU", "UA", "BY"])}
        columns |= {name: self.numbers(1 << 30) for name in ("FUniqID", "HID", "RemoteIP", "IPNetworkID", "CodeVersion")}
        for name, kind in SCHEMA.items():
            if name not in columns and name not in drawn:
                columns[name] = self.of(["a", "b"], 0.02) if kind == "string" else self.rare(0.1, 100)
        return columns

    def batch(self) -> pa.RecordBatch:
        drawn = self.drawn()
        columns = drawn | self.others(drawn)
        return pa.record_batch({name: pa.array(columns[name]).cast(TYPES[kind]) for name, kind in SCHEMA.items()})


def hits(rows: int) -> Iterator[pa.RecordBatch]:
    for first in range(0, rows, BATCH):
        yield Batch(first, min(BATCH, rows - first)).batch()


def make(data: pathlib.Path, scale: str) -> dict[str, pathlib.Path]:
    """The table as a file, which is made if it is not there yet."""
    folder = data / f"clickbench-{scale}"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "hits.parquet"
    if not path.exists():
        unfinished = path.with_name(f"unfinished-{path.name}")
        files.write_all(unfinished, hits(max(int(MILLION * float(scale)), 1)))
        unfinished.rename(path)
    return {"hits": path}
