# Draws a bar chart of `values` with `title` above it, as SVG.

function safe(text) {
    gsub(/&/, "\\&amp;", text)
    gsub(/</, "\\&lt;", text)
    gsub(/>/, "\\&gt;", text)
    return text
}

END {
    n = split(values, value, " ")
    for (i = 1; i <= n; i++) if (value[i] + 0 > most) most = value[i] + 0
    width = 40 + n * 30
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d 220\" font-family=\"sans-serif\">\n", width
    printf "<text x=\"%d\" y=\"24\" text-anchor=\"middle\" font-size=\"14\">%s</text>\n", width / 2, safe(title)
    for (i = 1; i <= n; i++) {
        height = most > 0 ? int(140 * value[i] / most) : 0
        x = 20 + (i - 1) * 30
        printf "<rect x=\"%d\" y=\"%d\" width=\"22\" height=\"%d\" fill=\"#4a7bb5\"/>\n", x, 190 - height, height
        printf "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" font-size=\"10\">%s</text>\n", x + 11, 184 - height, value[i]
    }
    print "</svg>"
}
