"""Languages whose words can be stemmed, and which of them a text is in, by its function words."""

from __future__ import annotations

import functools

LANGUAGES = (
    "arabic", "armenian", "basque", "catalan", "czech", "danish", "dutch", "dutch_porter",
    "english", "esperanto", "estonian", "finnish", "french", "german", "greek", "hindi",
    "hungarian", "indonesian", "irish", "italian", "lithuanian", "nepali", "norwegian", "persian",
    "polish", "porter", "portuguese", "romanian", "russian", "serbian", "sesotho", "spanish",
    "swedish", "tamil", "turkish", "yiddish",
)  # fmt: skip
"""The stemmers of snowballstemmer, by name."""

FUNCTION_WORDS = {
    "english": "the of and to in is for on with by from as an at are this that which be it or was "
    "its their his has have not how what between into we our can you a through",
    "german": "der die das und in von zu mit den im für auf des dem ist ein eine einer eines einem "
    "einen als auch bei nach aus zur zum über sich nicht wird werden durch sind am wie unter",
    "french": "le la les des du de et en un une dans pour par sur au aux est que qui avec ce cette "
    "ne pas sont entre ou se son sa leur l d à",
    "spanish": "el la los las de del y en un una para por con que se es al lo como su sus más no "
    "son entre o sobre este esta desde",
    "italian": "il lo la i gli le di del della dei delle degli e in un una per con che è nel nella "
    "da dal dalla si sono su come non al alla tra l d ed",
    "portuguese": "o a os as de do da dos das e em no na nos nas um uma para por com que se é ao à "
    "como sua seu não são mais entre sobre pela pelo",
    "catalan": "el la els les de del dels i en un una per amb que és al als com no són més entre "
    "aquest aquesta l d seva seu ha",
    "romanian": "și de la în cu pe din a al ale ai o un este pentru care că prin nu sunt mai sau "
    "lui unui unei între după",
    "dutch": "de het een en van in op te dat die voor met is zijn aan door als naar uit om bij ook "
    "niet tot over wordt worden of hun deze tussen",
    "danish": "og i at det en den til er som på de med af for ikke der et har fra om blev hvor men "
    "eller efter mellem sig også var ved",
    "norwegian": "og i å det en den til er som på de med av for ikke et har fra om ble hvor men "
    "eller etter mellom seg også var ved",
    "swedish": "och i att det en den till är som på de med av för inte ett har från om blev där "
    "men eller efter mellan sig också var vid",
    "finnish": "ja on ei se että oli joka jotka myös sekä tai mutta kun niin ovat kuin mukaan "
    "vuonna hän sen jossa siitä ole voi",
    "estonian": "ja on ei see et oli mis kes ka või aga kui nii ning oma mille selle tema aasta "
    "ka ole ta seda välja",
    "hungarian": "a az és hogy nem egy is ez volt meg de mint csak ki már vagy amely után által "
    "között szerint melyek azok van",
    "polish": "i w na z do że się nie jest o po od za dla przez jako oraz ze jak to przy są lub "
    "jego był między które który",
    "czech": "a v na z do že se je o po od za pro s jako i ale ve jak to při jsou nebo jeho byl "
    "mezi které který ze k",
    "lithuanian": "ir kad yra iš į su buvo kaip jo o nuo per ar bet apie tai dėl prie po jų kurie "
    "kuris taip lietuvos metais",
    "russian": "и в на с по не что от для из как к о это его при или за был между также которые "
    "который во со у их она он",
    "serbian": "и у на је се да од за са по као из не који су која код али до или њихов између "
    "i u na je se da od za sa po kao iz ne koji su koja kod ali do ili između",
    "greek": "και το της η ο του την στην των με για τα σε από που στο τη οι είναι τις ένα μια δεν "
    "θα να τους ως κατά",
    "turkish": "ve bir bu da de için ile olarak olan gibi daha çok en sonra kadar ise ancak veya "
    "göre her tarafından ne o",
    "indonesian": "dan yang di dari untuk dengan pada adalah ini itu dalam tidak ke oleh sebagai "
    "atau akan juga telah dapat antara mereka",
    "irish": "an na agus ar is do le i go sa bhí tá ag a as ó nó níl mar leis seo sin faoi idir "
    "air don chun",
    "basque": "eta da ez bat du ere dira izan zen baina edo hau bere dute beste dela dituzte egin "
    "urte arte den",
    "esperanto": "la kaj de en estas al por kun ne el pri ĝi estis ili sed aŭ tiu ke li per oni "
    "kiuj kiu inter",
    "arabic": "في من على إلى أن عن مع هذا هذه التي الذي ما لا كان بين أو ثم كما وقد ذلك قد هو هي",
    "persian": "و در به از که این است را با برای آن یک بود شد ها می تا بر هم یا خود شده ای میان",
    "armenian": "և է ու որ են մեջ հետ համար այս մի որպես կամ եւ նրա ից էր իր չէ",
}
"""Common words that carry no topic: a text is taken to be in the language that most of its words
point to. Scripts whose vowel signs are no word characters (see `TOKEN_PATTERN`) have none."""

DETECTED = tuple(FUNCTION_WORDS)
"""The languages that can be recognized."""


@functools.cache
def function_words() -> dict[bytes, int]:
    """Return word (UTF-8) -> bits of the languages that have it, by their place in `DETECTED`."""
    bits: dict[bytes, int] = {}
    for place, words in enumerate(FUNCTION_WORDS.values()):
        for word in words.split():
            bits[word.encode()] = bits.get(word.encode(), 0) | 1 << place
    return bits
