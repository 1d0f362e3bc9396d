"""The toy vocabulary's words. Data only: what stands in front is kept by smaller vocabularies too."""

from __future__ import annotations

_TEXT = """
    the a of and to in that it was is for on with as at by this from or had but not are his her they one all
    there when said up out if about who them then could into time like only other new some now over such our two
    may first any my than these after also did many before must through back where much your way well down should
    because each just those people how too little state good very make world still own see men work long get here
    between both life being under never day same another know while last might us great old year off come since
    against go came right used take three name river otter lantern pebble amber harbour meadow copper willow stone
    kettle signal garden mirror thunder valley candle feather bridge market winter summer orchard pepper ribbon
    silver marble cotton saddle anchor barrel basket beacon blanket bottle branch bronze bucket button canyon carpet
    castle cellar chapel cherry circle cliff clover comet coral corner crater cricket crystal dancer desert diamond
    dragon drum eagle ember engine falcon farmer ferry field finger flame forest fossil fountain galaxy gate ghost
    giant ginger glacier glove grain granite grove hammer hazel heron hill hollow honey horizon hunter island ivory
    jacket jasmine jewel juniper kingdom ladder lake lark lemon letter lily lizard maple mason melon mill mint mist
    moon moss moth mountain needle nest night north oak ocean olive onion orange orchid otherwise oven owl paddle
    palace paper parrot path pearl pine planet plum pocket pond poppy prairie puzzle quarry quartz quill rabbit rain
    raven reed ridge ring road robin rocket root rose saffron sail salt sand scarf shadow shell ship shore silk
    sister sky slate smoke snow song sparrow spice spring star storm stream sugar sun swan table temple thistle
    thread tide tiger timber tower town trail tree tulip tunnel velvet village violet violin voyage wagon walnut
    water wave wheat wheel whisper wild wind window wing wolf wood wool yarn yellow zephyr counts seven finds rests
    follows carries answers remembers crosses gathers builds opens closes turns waits listens speaks shines grows
    falls rises sings walks returns prompt token answer question count write read tell ask number word list story
"""
WORDS = tuple(_TEXT.split())
