# Writes the log of a shop for one day, about 200 MB. The random numbers are generated here, so that the output is the
# same on every machine.

function dice(n) {
    seed = (seed * 16807) % 2147483647
    return seed % n
}

function line(level, service, text) {
    at += 34 + dice(18)
    s = int(at / 1000)
    printf "2026-03-02T%02d:%02d:%02d.%03dZ %-5s %-8s %s\n", int(s / 3600), int(s / 60) % 60, s % 60, at % 1000, level, service, text
    written++
}

function request() {
    user = 100000 + dice(800000)
    kind = dice(100)
    took = 4 + dice(90)
    if (kind < 46) line("INFO", "web", sprintf("GET /products/%d status=200 took=%dms user=%d session=%08x", 1 + dice(48000), took, user, seed))
    else if (kind < 66) line("INFO", "search", sprintf("query=\"%s %s\" hits=%d took=%dms user=%d", adjective[dice(8)], thing[dice(12)], dice(400), took, user))
    else if (kind < 82) line("INFO", "cart", sprintf("add product=%d quantity=%d user=%d total=%d.%02d", 1 + dice(48000), 1 + dice(4), user, 5 + dice(900), dice(100)))
    else if (kind < 90) checkout()
    else if (kind < 96) line("DEBUG", "stock", sprintf("reserved product=%d left=%d warehouse=%s", 1 + dice(48000), dice(500), town[dice(4)]))
    else if (kind < 99) line("INFO", "mail", sprintf("sent template=%s to=user-%d@example.org", letter[dice(3)], user))
    else noise()
}

function noise() {
    kind = dice(10)
    if (kind < 5) line("WARN", "search", sprintf("slow query took=%dms index=products", 900 + dice(2400)))
    else if (kind < 8) line("WARN", "web", sprintf("GET /products/%d status=404 took=%dms", 48001 + dice(9000), 2 + dice(9)))
    else line("ERROR", "mail", sprintf("bounced: mailbox full to=user-%d@example.org", 100000 + dice(800000)))
}

# A payment occupies a connection for 200 to 400 ms. After the release there are too few connections.
function checkout() {
    order = ++orders
    if (pool > 20 || at < changed + 21000 || dice(100) < 22) {
        line("INFO", "payment", sprintf("charged order=%07d amount=%d.%02d took=%dms pool=%d/%d", order, 5 + dice(900), dice(100), 180 + dice(220), 2 + dice(pool > 20 ? 14 : 4), pool))
        return
    }
    line("WARN", "payment", sprintf("no free connection order=%07d waiting=%d pool=%d/%d", order, 3 + dice(60), pool, pool))
    if (dice(100) < 70) {
        line("ERROR", "checkout", sprintf("failed order=%07d user=%d cause=\"payment timed out after 5000ms\"", order, 100000 + dice(800000)))
        failed++
    }
}

BEGIN {
    seed = 20260302
    pool = 64
    split("red blue small large light warm quiet round", words, " ")
    for (i = 1; i <= 8; i++) adjective[i - 1] = words[i]
    split("lamp chair kettle coat tent radio table brush clock rug vase shelf", words, " ")
    for (i = 1; i <= 12; i++) thing[i - 1] = words[i]
    split("Graz Linz Wels Enns", words, " ")
    for (i = 1; i <= 4; i++) town[i - 1] = words[i]
    split("order-confirmed password-reset newsletter", words, " ")
    for (i = 1; i <= 3; i++) letter[i - 1] = words[i]
    line("INFO", "deploy", "release 2026.3.1 is live")
    while (at < 86300000) {
        if (!changed && at > 33250000) {
            line("INFO", "deploy", "release 2026.3.2 is live: config payment.pool_size 64 -> 6 (ticket SHOP-1482, author=tk)")
            pool = 6
            changed = at
        }
        if (!restored && at > 39112000) {
            line("INFO", "deploy", "release 2026.3.2 rolled back: config payment.pool_size 6 -> 64")
            pool = 64
            restored = 1
        }
        request()
    }
}
