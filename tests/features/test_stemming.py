import numpy as np
import pytest
import snowballstemmer

from multitudes.errors import ConfigError, StoreError
from multitudes.features import TfidfFeatures
from multitudes.features.known_words import count_words
from multitudes.features.languages import DETECTED, LANGUAGES
from multitudes.features.stemming import (
    LONGEST,
    STEMS,
    distinct_words,
    languages_of,
    most_common_language,
    stemmed,
    stemmer,
)
from multitudes.features.text_buffer import text_chunks

# Sentences of the Universal Declaration of Human Rights, and of nobody.
SENTENCES = {
    "english": "All human beings are born free and equal in dignity and rights",
    "german": "Alle Menschen sind frei und gleich an Würde und Rechten geboren",
    "french": "Tous les êtres humains naissent libres et égaux en dignité et en droits",
    "spanish": "Todos los seres humanos nacen libres e iguales en dignidad y derechos",
    "italian": "Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti",
    "portuguese": "Todos os seres humanos nascem livres e iguais em dignidade e em direitos",
    "catalan": "Tots els éssers humans neixen lliures i iguals en dignitat i en drets",
    "romanian": "Toate ființele umane se nasc libere și egale în demnitate și în drepturi",
    "dutch": "Alle mensen worden vrij en gelijk in waardigheid en rechten geboren",
    "danish": "De er udstyret med fornuft og samvittighed og bør handle i en broderskabets ånd",
    "norwegian": "De er utstyrt med fornuft og samvittighet av naturen, å handle er etter ånd",
    "swedish": "De är utrustade med förnuft och samvete och bör handla för att bli fria",
    "finnish": "Kaikki ihmiset syntyvät vapaina ja tasavertaisina, se on oikeus sekä arvo",
    "estonian": "Kõik inimesed sünnivad vabadena ning see on nende õigus või oma väärikus",
    "hungarian": "Minden emberi lény szabadon születik és egyenlő méltósága van",
    "polish": "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności oraz praw",
    "czech": "Všichni lidé se rodí svobodní a jsou nadáni rozumem ve svém jednání který je",
    "lithuanian": "Visi žmonės gimsta laisvi ir lygūs, jie yra apdovanoti protu ir sąžine",
    "russian": "Все люди рождаются свободными и равными в своём достоинстве, это не для них",
    "serbian": "Сва људска бића рађају се слободна и једнака у достојанству која су и од разума",
    "greek": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια",
    "turkish": "Bütün insanlar hür ve eşit doğarlar, bu bir haktır ve herkes için",
    "indonesian": "Semua orang dilahirkan merdeka dan mempunyai martabat yang sama",
    "irish": "Saolaítear gach duine saor agus comhionann maidir le dínit agus leis an gceart",
    "basque": "Gizon-emakume guztiak aske jaiotzen dira, eta bat ere ez da beste baino gehiago",
    "esperanto": "Ĉiuj homoj estas denaske liberaj kaj egalaj laŭ digno kaj rajtoj",
    "arabic": "يولد جميع الناس أحرارا متساوين في الكرامة من حقوق على ذلك",
    "persian": "تمام افراد بشر آزاد به دنیا می آیند و از لحاظ حیثیت با هم برابر است",
    "armenian": "Բոլոր մարդիկ ծնվում են ազատ ու հավասար և օժտված են խղճով",
}


def buffer_of(texts):
    ((n_rows, buffer),) = text_chunks(texts, lowercase=True, strip_accents=False)
    return buffer, n_rows


def words_of(buffer):
    return [row.split() for row in bytes(buffer).decode().split("\0")[:-1]]


def test_all_stemmers_are_named():
    assert tuple(snowballstemmer.algorithms()) == LANGUAGES
    assert set(DETECTED) < set(LANGUAGES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_stems_are_those_of_snowball(language):
    theirs = snowballstemmer.stemmer(language)
    words = ["connections", "häuser", "naciones", "книгами", "kitabını", "x"]
    assert [stemmer(language)(word.encode()).decode() for word in words] == theirs.stemWords(words)


def test_every_language_is_recognized():
    assert SENTENCES.keys() == set(DETECTED)
    buffer, n_rows = buffer_of(list(SENTENCES.values()))
    found = languages_of(*distinct_words(buffer, n_rows), "german")
    assert [DETECTED[place] for place in found] == list(SENTENCES)


def test_a_text_without_function_words_is_in_the_fallback():
    buffer, n_rows = buffer_of(["Gartenhäuser", "", "garden houses"])
    found = languages_of(*distinct_words(buffer, n_rows), "german")
    assert {DETECTED[place] for place in found} == {"german"}


def test_each_text_is_stemmed_in_its_language():
    texts = ["the houses of gardeners", "die Häuser der Gärtner", "", "Häuser C++ x1s"]
    buffer, n_rows = buffer_of(texts)
    found = words_of(stemmed(buffer, n_rows, stem="auto", fallback="german"))
    english, german = snowballstemmer.stemmer("english"), snowballstemmer.stemmer("german")
    assert found == [
        english.stemWords(texts[0].split()),
        german.stemWords(texts[1].lower().split()),
        [],
        ["haus", "c++", "x1s"],  # what is not made of letters alone stays
    ]


def test_accents_are_dropped_of_the_stems():
    buffer, n_rows = buffer_of(["Gärtnereien", "x" * LONGEST + "és"])
    found = stemmed(buffer, n_rows, stem="french", fallback="english", strip_accents=True)
    assert words_of(found) == [["gartnereien"], ["x" * LONGEST + "es"]]


def test_more_words_than_a_first_table_holds():
    texts = [f"gardens of word{i} and other{i}s" for i in range(30_000)]
    buffer, n_rows = next(iter(_swapped(text_chunks(texts, lowercase=True, strip_accents=False))))
    found = words_of(stemmed(buffer, n_rows, stem="english", fallback="english"))
    assert len(found) == n_rows
    assert found[-1] == ["garden", "of", f"word{n_rows - 1}", "and", f"other{n_rows - 1}s"]


def _swapped(chunks):
    return ((buffer, n_rows) for n_rows, buffer in chunks)


def test_the_most_common_language():
    assert most_common_language(["die Katze", "der Hund und die Maus", "the dog"]) == "german"
    assert most_common_language([]) == most_common_language(["xyz"]) == "english"


def test_tfidf_of_stems():
    texts = ["the garden of houses", "gardens and the house", "ein Garten und die Gärten"]
    features = TfidfFeatures(stem="auto").fit(texts)
    assert {"garden", "hous", "gart"} < set(features.feature_names)
    X = features.transform(["gardens", "the garden"])
    column = features.feature_names.index("garden")
    assert (X[:, [column]].toarray() > 0).all()
    assert count_words(features, ["the gardens of zebras"]) == (4, 1)


def test_pairs_are_of_stems_and_parts_of_words_are_not():
    features = TfidfFeatures(stem="english", word_ngrams=(1, 2), char_ngrams=(6, 6))
    names = features.fit(["garden houses"]).feature_names
    assert "garden hous" in names
    assert "char:ouses " in names


@pytest.mark.parametrize("stem", ["auto", "german"])
def test_stored_features_read_words_alike(stem):
    texts = ["die Häuser und das Haus", "Gärten", "the garden"]
    features = TfidfFeatures(stem=stem, strip_accents=True).fit(texts)
    state = features.to_state()
    TfidfFeatures.check_state(state)
    again = TfidfFeatures.from_state(state)
    assert again.language_ == features.language_
    np.testing.assert_array_equal(
        again.transform(texts).toarray(), features.transform(texts).toarray()
    )


def test_a_stored_language_must_be_one():
    state = TfidfFeatures(stem="auto").fit(["the garden"]).to_state()
    state.config["language"] = "klingon"
    with pytest.raises(StoreError, match="language must be one of"):
        TfidfFeatures.check_state(state)


def test_results_do_not_depend_on_threads():
    texts = [f"the gardens number {i} of houses" for i in range(5_000)]
    one, two = (TfidfFeatures(stem="auto", n_jobs=n).fit_transform(texts) for n in (1, 2))
    assert (one != two).nnz == 0


def test_unknown_languages_and_capitals_are_refused():
    assert "auto" in STEMS
    with pytest.raises(ConfigError, match="stem must be one of"):
        TfidfFeatures(stem="klingon").fit(["a"])
    with pytest.raises(ConfigError, match="lowercase=True"):
        TfidfFeatures(stem="german", lowercase=False).fit(["a"])
