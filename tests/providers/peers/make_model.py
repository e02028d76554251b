"""Writes a model of random weights that the llama.cpp server loads: it talks nonsense, but in real tokens over the real protocol.

usage: make_model.py FILE
"""
import sys

import gguf
import numpy

WIDTH, HIDDEN, LAYERS, HEADS, KV_HEADS, WINDOW = 64, 128, 2, 4, 2, 4096
SPECIAL = ["<|end|>", "<|turn|>", "<|done|>"]
TEMPLATE = (
    "{%- for message in messages -%}<|turn|>{{ message.role }}\n{{ message.content or '' }}<|done|>\n{%- endfor -%}"
    "{%- if add_generation_prompt -%}<|turn|>assistant\n{%- endif -%}"
)


def alphabet():
    """The sign that stands for each byte in a byte-level vocabulary: printable ones stand for themselves."""
    plain = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    spare = iter(range(0x100, 0x200))
    return [chr(byte if byte in plain else next(spare)) for byte in range(256)]


def vocabulary():
    signs = alphabet()
    tokens, merges = list(signs), []
    for word in (" the", " of", " and", " to", " in", " is", "ing", "er", " city", " good"):
        parts = [signs[byte] for byte in word.encode()]
        while len(parts) > 1:
            joined = parts[0] + parts[1]
            if joined not in tokens:
                tokens.append(joined)
                merges.append(f"{parts[0]} {parts[1]}")
            parts[:2] = [joined]
    kinds = [gguf.TokenType.NORMAL] * len(tokens) + [gguf.TokenType.CONTROL] * len(SPECIAL)
    return tokens + SPECIAL, kinds, merges


def main(path):
    random = numpy.random.default_rng(7)
    tokens, kinds, merges = vocabulary()
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("random")
    writer.add_context_length(WINDOW)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(merges)
    first = len(tokens) - len(SPECIAL)
    writer.add_bos_token_id(first)
    writer.add_pad_token_id(first)
    writer.add_eos_token_id(first + 2)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)

    def weights(name, rows, columns, scale=0.05):
        writer.add_tensor(name, (random.standard_normal((rows, columns)) * scale).astype(numpy.float32))

    def norm(name):
        writer.add_tensor(name, numpy.ones(WIDTH, numpy.float32))

    weights("token_embd.weight", len(tokens), WIDTH, 1.0)
    weights("output.weight", len(tokens), WIDTH, 0.3)
    norm("output_norm.weight")
    narrow = WIDTH * KV_HEADS // HEADS
    for block in range(LAYERS):
        for name, rows, columns in (
            ("attn_q", WIDTH, WIDTH), ("attn_k", narrow, WIDTH), ("attn_v", narrow, WIDTH), ("attn_output", WIDTH, WIDTH),
            ("ffn_gate", HIDDEN, WIDTH), ("ffn_up", HIDDEN, WIDTH), ("ffn_down", WIDTH, HIDDEN),
        ):
            weights(f"blk.{block}.{name}.weight", rows, columns)
        norm(f"blk.{block}.attn_norm.weight")
        norm(f"blk.{block}.ffn_norm.weight")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


main(sys.argv[1])
