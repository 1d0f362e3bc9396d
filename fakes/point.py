"""The closed list of places where a fake can be made to fail, or be held until it is released."""

from __future__ import annotations

from enum import Enum


class Point(Enum):
    """`who.where`. A decoder's points can be held as well; a fault acts at exactly one point."""

    LOAD = "decoder.load"
    """Before the model counts as loaded; the port answers 503 until then."""
    READY = "decoder.ready"
    """The model is loaded; requests are served from here on."""
    LISTEN = "decoder.listen"
    """The port is opened, or would be again after the faults have been changed."""
    ACCEPT = "decoder.accept"
    """A connection has come in; nothing was read."""
    HANDSHAKE = "decoder.handshake"
    """A TLS client has said hello; the certificate would be shown next."""
    REQUEST = "decoder.request"
    """A request has been read whole; nothing of it was looked at."""
    LIMITS = "decoder.limits"
    """A completion was read; what it says of its reply's length would be looked at next."""
    RESPONSE = "decoder.response"
    """An answer that is no stream is there, errors too; it would be written next."""
    STREAM = "decoder.stream"
    """The head of a stream of events would be written next."""
    SENDING = "decoder.sending"
    """The first byte of an answer, whole or a stream, would go to the socket next."""
    GONE = "decoder.gone"
    """A client has left in the middle; its work would be given up next."""
    STOPPING = "decoder.stopping"
    """SIGTERM or SIGINT has come; it would clean up and end."""
    SLOT_WANTED = "decoder.slot-wanted"
    """A request or a slot action wants a slot, and has none yet."""
    EVALUATE = "decoder.evaluate"
    """The prompt would be evaluated next, on top of what its slot holds."""
    COUNTED = "decoder.counted"
    """A completion is done; its counters would be told next."""
    SAVE_TAKEN = "decoder.save-taken"
    """The rows to save are taken; the file would be written next."""
    RESTORE_READ = "decoder.restore-read"
    """The file of a restore would be opened and read next."""
    ADOPT_CHECKED = "decoder.adopt-checked"
    """Tokens and share id of an adopt were looked at; it would be done, or refused, next."""
    ADOPTED = "decoder.adopted"
    """The cells are the slot's again; the tokens would become its own next."""
    ERASED = "decoder.erased"
    """The slot would forget its tokens next, and the reply go out."""
    STARTED = "decoder.started"
    """A completion has its slot (a stream its headers), and evaluates its prompt next."""
    TOKEN = "decoder.token"
    """A token is out; for a stream its frame has been written."""
    REPLY = "decoder.reply"
    """The reply, or a stream's last frames, would go out next."""
    SHARE_ASKED = "decoder.share-asked"
    """The share has its slot; nothing has been connected or sent."""
    SHARE_MESSAGE = "decoder.share-message"
    """Header and descriptors would go to the router's socket next."""
    SHARE_REPLY = "decoder.share-reply"
    """The descriptors are sent; the HTTP reply would go out next."""
    ADOPT_ASKED = "decoder.adopt-asked"
    """The adopt has its slot; nothing has been adopted."""
    ADOPT_REPLY = "decoder.adopt-reply"
    """The cells are adopted; the HTTP reply would go out next."""
    RESTORE_ASKED = "decoder.restore-asked"
    """The restore has its slot; the file has not been opened."""
    RESTORED = "decoder.restored"
    """The file has been read; its tokens would become the slot's next, and the reply would go out."""
    SAVE_ASKED = "decoder.save-asked"
    """The save has its slot; the file has not been opened."""
    ERASE_ASKED = "decoder.erase-asked"
    """The erase has its slot."""
    PREFILL = "provider.prefill"
    """The provider knows its request, and has written nothing."""
    CLAIM = "provider.claim"
    """The last line of its output would be written next."""

    ENGINE_ACCEPT = "engine.accept"
    """A connection has come in on the RPC port; nothing was read."""
    ENGINE_ADMIT = "engine.admit"
    """A request's head was read; its payload was not, and nothing was done."""
    ENGINE_ANSWER = "engine.answer"
    """The work is done; the answer would go out next."""
    ENGINE_BLOB = "engine.blob"
    """State would be written as a blob next, for a PREFILL or a STATE_GET."""
    ENGINE_ACCEPTED = "engine.accepted"
    """A DECODE has its early answer and its slot reserved; nothing was restored."""
    ENGINE_RESTORE = "engine.restore"
    """State was received, read and found good; it would be put into its slot next."""
    ENGINE_LEGACY = "engine.legacy"
    """A DECODE of an older generation has its tokens; its frames would go out next."""
    ENGINE_ENTRY = "engine.entry"
    """A stored result was asked for and would be answered, not as a stream."""
    ENGINE_STREAM = "engine.stream"
    """A stream of events would begin."""
    ENGINE_TOKEN = "engine.token"
    """A token of a reply would come next."""
    ENGINE_SLOTS = "engine.slots"
    """The list of slots would be answered."""
    ENGINE_CANCEL = "engine.cancel"
    """A client is gone or cancels; its slot would be freed next."""

    @property
    def who(self) -> str:
        return self.value.partition(".")[0]

    @property
    def meets_a_request(self) -> bool:
        """Whether an HTTP request comes by, of which a limit can ask for whom it is and what it says."""
        return self.who == "decoder" and self not in _BEFORE_ANY_REQUEST

    @property
    def can_be_held(self) -> bool:
        """Whether somebody can be made to wait there."""
        return self.who != "provider" and self not in _IN_PASSING


_BEFORE_ANY_REQUEST = frozenset((Point.LOAD, Point.READY, Point.LISTEN, Point.ACCEPT, Point.HANDSHAKE, Point.STOPPING))
_IN_PASSING = _BEFORE_ANY_REQUEST - {Point.LOAD} | {Point.GONE}
